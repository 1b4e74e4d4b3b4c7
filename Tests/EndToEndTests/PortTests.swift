import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The TCP ports, with well-behaved and misbehaving clients.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PortTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private static let watch = "?WATCH={\"enable\":true,\"json\":true};"

  init() { Peer.allowCrowds() }

  @Test func `a connection, a POLL and a list of devices wake nothing`() throws {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    #expect(eventually { client.text.hasPrefix("{\"class\":\"VERSION\"") })
    for round in 1...100 {
      for _ in 0..<10 { client.send("?POLL;?DEVICES;?WATCH;") }
      // The client reads while it sends requests, because the hub closes a connection with more than 64 waiting
      // answers.
      try #require(eventually { client.lineCount == 1 + 40 * round }, "\(client.lineCount) lines in round \(round)")
    }
    #expect(client.text.contains("\"tpv\":[],\"gst\":[],\"sky\":[]"))
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    client.leave()
    #expect(hub.stop() == 0)
  }

  @Test
  func `enabling a watch wakes the devices, changing it does not wake them again, and disabling it lets them sleep`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    client.send(PortTests.watch)
    #expect(client.receives("\"mode\":3"))
    client.send("?WATCH={\"nmea\":true}")
    #expect(client.receives("$GNGGA,"))
    #expect(hub.devicesNow["gps"].holders.count == 1)
    let observer = SocketClient(port: gpsd)
    observer.send("?POLL;")
    #expect(eventually { observer.text.contains("\"active\":1,\"tpv\":[{\"class\":\"TPV\"") }, "\(observer.text)")
    client.send("?WATCH={\"enable\":false}")
    #expect(hub.comesToRest())
    #expect(client.isOpen)
    #expect(hub.devicesNow["gps"].wakes == 1)
    #expect(hub.stop() == 0)
  }

  @Test func `a client that requests the sentences of the IMU gets none, and does not wake the receiver`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true,\"nmea\":true,\"device\":\"simulated/i2c\"};")
    #expect(client.receives("\"class\":\"ATT\""))
    #expect(hub.devicesNow["gps"].wakes == 0)
    #expect(!client.text.contains("\n$"), "\(client.text)")
    #expect(hub.stop() == 0)
  }

  @Test func `clients that connect at different times get the same attitudes`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    func attitudes(_ client: SocketClient) -> [Substring] {
      client.text.split(separator: "\r\n").filter { $0.hasPrefix("{\"class\":\"IMU\"") }
    }
    let first = SocketClient(port: gpsd)
    first.send(PortTests.watch)
    #expect(eventually { !attitudes(first).isEmpty })
    let clients = [first] + (0..<5).map { _ in SocketClient(port: gpsd) }
    for client in clients.dropFirst() {
      client.send(PortTests.watch)
      #expect(eventually { attitudes(client).count > 3 })
    }
    // All clients got the states between the first and the last one of the latest client.
    let common = attitudes(clients[5]).dropFirst().prefix(2)
    #expect(eventually { clients.allSatisfy { client in common.allSatisfy(attitudes(client).contains) } })
    #expect(hub.stop() == 0)
  }

  @Test func `a watch of the pulse gets the offset between the clocks`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"pps\":true}")
    #expect(client.receives("{\"class\":\"TOFF\",\"device\":\"simulated/gps\",\"real_sec\":"))
    #expect(!client.text.contains("\"class\":\"TPV\""))
    #expect(hub.devicesNow["imu"].wakes == 0)
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test(arguments: [
    ("?WATCH={\"device\":\"/dev/nothing\"};", "No such device: /dev/nothing"),
    ("?WATCH={\"enable\":\"yes\"};", "Invalid WATCH"),
    ("?DEVICE={\"path\":\"/dev/nothing\"};", "Can't open /dev/nothing"),
    ("?DEVICE={\"bps\":4800};", "No path specified in DEVICE"),
    ("?DEVICE={\"path\":\"simulated/gps\",\"bps\":4800,\"native\":0};", "Can't set bps of simulated/gps"),
    ("?REBOOT;", "Unrecognized request 'REBOOT'"),
  ])
  func `an impossible request is answered with an error that says why`(_ request: String, _ message: String) {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    client.send(request)
    #expect(client.receives("{\"class\":\"ERROR\",\"message\":\"\(message)"), "\(client.text)")
    #expect(hub.isOff)
    #expect(hub.stop() == 0)
  }

  @Test func `during the receiver's start both ports report no fix once a second, and fused sentences follow`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea, fused: true)
    // On a busy machine the receiver may have a fix before the first client listens. Then the next start is another
    // chance.
    var client = SocketClient(port: nmea)
    let isSaid = (0..<10).contains { _ in
      let coldStart = "$GPRMC,,V,,,,,,,,,,N*53\r\n"
      _ = eventually { client.text.contains(coldStart) || client.text.contains(",A,") }
      if client.text.contains(coldStart) { return true }
      client.leave()
      #expect(hub.comesToRest())
      client = SocketClient(port: nmea)
      return false
    }
    #expect(isSaid, "\(client.text)")
    for sentence in [
      "$GPRMC,", "$GPGGA,", "$GPVTG,", "$GPGST,", "$GNGSA,", "$GPGSV,", "$HEHDT,", "$TIROT,", "$YXXDR,", "$PASHR,",
    ] {
      #expect(client.receives(sentence), "no \(sentence)")
    }
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `ten thousand invalid requests on each port do no harm`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let good = SocketClient(port: gpsd)
    good.send(PortTests.watch)
    #expect(good.receives("\"mode\":3"))
    let before = hub.resources
    var random = SeededRandom()
    let seeds = [
      "?WATCH={\"enable\":true,\"json\":true,\"nmea\":true,\"raw\":2};", "?POLL;", "?DEVICES;\r\n", "$GPRMC,1*00\r\n",
    ]
    for port in [gpsd, nmea] {
      for _ in 0..<100 {
        let client = SocketClient(port: port)
        for _ in 0..<100 {
          var bytes = Array(seeds.randomElement(using: &random)!.utf8)
          for _ in 0..<Int.random(in: 0...4, using: &random) {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
          }
          if Bool.random(using: &random) {
            bytes = Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &random)))
          }
          client.sendNow(bytes)
        }
        client.leave()
      }
      // The inputs are lines without an end, and bytes that no protocol contains.
      let endless = SocketClient(port: port)
      for _ in 0..<64 { endless.sendNow([UInt8](repeating: UInt8(ascii: "{"), count: 16384)) }
      endless.sendNow([UInt8](repeating: 0, count: 4096) + [0xff, 0xfe, 0xc0, 0x80])
      endless.leave()
    }
    let seen = good.lineCount
    #expect(eventually { good.lineCount > seen + 20 })
    #expect(eventually { zip(hub.resources, before).allSatisfy { $0 <= $1 } }, "\(before) became \(hub.resources)")
    #expect(hub.devicesNow["gps"].wakes == 1)
    good.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `twenty clients that do not read delay none of two hundred others`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let clients = (0..<180).map { _ in SocketClient(port: gpsd) }
    let stalled = (0..<20).map { _ in SocketClient.connect(port: gpsd) }
    let request = Array((PortTests.watch + "?WATCH={\"nmea\":true};").utf8)
    for descriptor in stalled { _ = request.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
    for client in clients { client.send(PortTests.watch) }
    // A client that is complete is not examined again, because examining two hundred takes processor time too.
    func areAll(_ condition: (SocketClient) -> Bool) -> Bool {
      var others = clients
      return eventually {
        others.removeAll(where: condition)
        return others.isEmpty
      }
    }
    #expect(areAll { $0.has("\"mode\":3") })
    #expect(areAll { !$0.positions.isEmpty })
    // All clients get the same positions from the latest client's first one on.
    let joined = clients.compactMap(\.positions.first).max() ?? ""
    #expect(eventually { clients[0].positions.count { $0 > joined } > 20 })
    let times = clients[0].positions.filter { $0 > joined }
    #expect(areAll { Set($0.positions).isSuperset(of: times) })
    #expect(hub.devicesNow["gps"].holders.count == 200)
    for client in clients { client.leave() }
    for descriptor in stalled { close(descriptor) }
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `five hundred clients do not keep the hub from ending with its power off`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let clients = (0..<500).map { index in SocketClient(port: index % 2 == 0 ? gpsd : nmea) }
    // The NMEA port sends without a request, and closes on input that is no sentence.
    for index in stride(from: 0, to: clients.count, by: 2) { clients[index].send(PortTests.watch) }
    #expect(eventually { clients.allSatisfy { $0.lineCount > 4 } })
    #expect(hub.stop() == 0)
    #expect(hub.program.standardError.contains("all power lines are off"))
    #expect(eventually { clients.allSatisfy { !$0.isOpen } })
  }

  @Test func `a watch keeps the receiver awake while a client only polls, and still works after a pause`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true}")
    let hasPosition = eventually {
      client.forget()
      client.send("?POLL;")
      return eventually(within: .seconds(1)) {
        client.text.contains("\"active\":1,\"tpv\":[{\"class\":\"TPV\"")
          && client.text.contains("\"sky\":[{\"class\":\"SKY\"")
      }
    }
    #expect(hasPosition, "\(client.text)")
    client.send("?WATCH={\"json\":true};?WATCH={\"enable\":false};")
    #expect(hub.comesToRest())
    client.forget()
    client.send("?WATCH={\"enable\":true};")
    #expect(client.receives("{\"class\":\"TPV\""))
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a reload can move the ports, and disconnects their clients`() {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let moved = SocketClient.freePort()
    let stays = SocketClient(port: nmea)
    let goes = SocketClient(port: gpsd)
    goes.send(PortTests.watch)
    #expect(eventually { stays.text.contains("$GNGGA,") && goes.text.contains("\"mode\":3") })
    HubProcess.write(HubProcess.simulatedBoard(gpsd: moved, nmea: nmea), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("gpsd protocol on 127.0.0.1:\(moved)"))
    // The same protocol moves to another port, and a client of the old one can connect there.
    let new = SocketClient(port: moved)
    new.send(PortTests.watch)
    #expect(eventually { new.text.contains("\"mode\":3") }, "\(hub.program.standardError)")
    stays.forget()
    #expect(eventually { stays.text.contains("$GNGGA,") })
    HubProcess.write("{ name: \"none\", nmea: { port: \(nmea) } }", to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { !goes.isOpen && !new.isOpen })
    #expect(stays.isOpen)
    #expect(hub.stop() == 0)
  }

  @Test func `a port in use is reported, and everything else works`() {
    let first = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    let second = HubProcess.simulated(gpsd: gpsd, nmea: SocketClient.freePort())
    #expect(
      second.logs("another program listens on 127.0.0.1:\(gpsd)"),
      "\(second.program.standardError)")
    #expect(second.isOff)
    #expect(second.stop() == 0)
    #expect(first.stop() == 0)
  }
}

extension SocketClient {
  /// The times of the positions that have arrived completely.
  fileprivate var positions: [String] {
    let whole = text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast()
    return whole.filter { $0.hasPrefix("{\"class\":\"TPV\"") }.compactMap { line in
      line.split(separator: "\"time\":\"").dropFirst().first.map { String($0.prefix(24)) }
    }
  }
}
