import Glibc
import TestSupport
import Testing

/// Sentences over UDP, for programs that listen without connecting.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DatagramTests {
  private let port = SocketClient.freePort()
  private let other = SocketClient.freePort()

  private func hub(_ entries: String) -> HubProcess {
    HubProcess(board: HubProcess.simulatedBoard("nmea: [\(entries)]"))
  }

  /// Whether a datagram has whole sentences, and no more than a packet holds.
  private func isWhole(_ datagram: String) -> Bool {
    datagram.hasPrefix("$") && datagram.hasSuffix("\r\n") && datagram.utf8.count <= 1400
  }

  @Test func `datagrams wake no device, are sent while a client listens, and stop when it leaves`() {
    let hub = hub(
      "{ udp: \"127.0.0.1:\(port)\", source: \"fused\" }, { udp: \"127.0.0.1:\(other)\", sentences: [\"GSV\"] }")
    let (fused, raw) = (DatagramSocket(port: port), DatagramSocket(port: other))
    #expect(hub.devicesNow.devices.allSatisfy { $0.power == "off" && $0.wakes == 0 })
    let watch = hub.watch()
    var datagrams: [String] = []
    var ownDatagrams: [String] = []
    let hasCome = eventually {
      datagrams += fused.texts()
      ownDatagrams += raw.texts()
      return datagrams.contains { $0.contains("$GPRMC,") && $0.contains("$PASHR,") && $0.contains("$GPGSV,2,2,") }
        && ownDatagrams.joined().contains("$GPGSV,2,2,08,")
    }
    #expect(hasCome, "\(datagrams.suffix(3)) \(ownDatagrams.suffix(3)) \(hub.program.standardError)")
    // All sentences of an epoch are in one datagram.
    #expect((datagrams + ownDatagrams).allSatisfy(isWhole))
    #expect(datagrams.allSatisfy { $0.split(separator: "$GPRMC,").count <= 2 })
    #expect(ownDatagrams.allSatisfy { $0.split(separator: "\r\n").allSatisfy { $0.hasPrefix("$GPGSV,") } })
    #expect(hub.devicesNow["gps"].holders.count == 1)
    watch.send(SIGTERM)
    watch.wait()
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1)
    // The last client is gone, so nothing follows.
    _ = fused.texts()
    #expect(fused.next() == nil)
    #expect(hub.stop() == 0)
  }

  @Test func `a datagram target that keeps the devices awake holds them until a reload removes it`() {
    let hub = hub("{ udp: \"127.0.0.1:\(port)\", source: \"fused\", sentences: [\"RMC\"], keepsAwake: true }")
    let socket = DatagramSocket(port: port)
    var datagrams: [String] = []
    let hasPosition = eventually {
      datagrams += socket.texts()
      return datagrams.contains { $0.contains(",A,52") }
    }
    #expect(hasPosition)
    #expect(datagrams.allSatisfy { $0.hasPrefix("$GPRMC,") })
    #expect(hub.devicesNow["gps"].holders == ["nmea udp 127.0.0.1:\(port)"])
    HubProcess.write(
      HubProcess.simulatedBoard("nmea: { udp: \"127.0.0.1:\(other)\", keepsAwake: true }"), to: hub.boardFile)
    let next = DatagramSocket(port: other)
    hub.program.send(SIGHUP)
    #expect(eventually { next.texts().contains { $0.contains("$GNGGA,") } }, "\(hub.program.standardError)")
    #expect(eventually { hub.devicesNow["gps"].holders == ["nmea udp 127.0.0.1:\(other)"] })
    HubProcess.write(HubProcess.simulatedBoard("nmea: []"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a multicast group is reached through the stated interface`() {
    let hub = hub("{ udp: \"239.192.7.1:\(port)\", interface: \"lo\", keepsAwake: true }")
    let socket = DatagramSocket(port: port, group: [239, 192, 7, 1])
    #expect(eventually { socket.texts().contains { $0.contains("$GNRMC,") } }, "\(hub.program.standardError)")
    let text = "sentences go to UDP 239.192.7.1:\(port) via lo"
    #expect(hub.logs(text), "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test func `a datagram that cannot be sent is reported once, counted, and delays no other`() throws {
    let web = SocketClient.freePort()
    let board = HubProcess.simulatedBoard(
      """
      http: { port: \(web) }, nmea: [
        { udp: "239.192.7.1:\(port)", interface: "nothing0", keepsAwake: true },
        { port: \(other), source: "fused", sentences: ["RMC"] }]
      """)
    let hub = HubProcess(board: board)
    let client = SocketClient(port: other)
    #expect(client.receives(",A,52"))
    let dropped = eventually {
      HTTPAnswer(web, "GET", "/metrics").body.split(separator: "\n").contains {
        $0.contains("output_dropped_values_total{output=\"nmea\"} ") && !$0.hasSuffix(" 0")
      }
    }
    #expect(dropped)
    // The log is written a moment later.
    var lines: [Substring] = []
    let isSaid = eventually {
      lines = hub.program.standardError.split(separator: "\n").filter { $0.contains("no sentences go to UDP") }
      return !lines.isEmpty
    }
    #expect(isSaid && lines.count == 1 && lines[0].contains("this interface does not exist at present"), "\(lines)")
    client.leave()
    #expect(hub.stop() == 0)
  }
}
