import CLinux
import Glibc
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// Sentences over UDP, for programs that listen without connecting.
@Suite(.timeLimit(.minutes(10))) struct DatagramTests {
  /// A listener that waits for datagrams.
  private final class Listener {
    private let descriptor: Int32
    private(set) var texts: [String] = []

    init(_ port: UInt16, group: [UInt8]? = nil) throws {
      descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      try #require(clinux_bind_tcp(descriptor, group ?? [127, 0, 0, 1], 4, port) == 0)
      // The longest wait for a datagram, for tests that fail.
      var limit = timeval(tv_sec: 60, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      guard let group else { return }
      let membership = group + [127, 0, 0, 1]
      try #require(
        setsockopt(descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, membership, socklen_t(membership.count)) == 0)
    }

    deinit { close(descriptor) }

    /// Waits for datagrams until the received ones meet a condition.
    func receives(until isMet: ([String]) -> Bool) -> Bool {
      var bytes = [UInt8](repeating: 0, count: 2048)
      while !isMet(texts) {
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { return false }
        texts.append(String(decoding: bytes[..<count], as: UTF8.self))
      }
      return true
    }

    /// Reads the datagrams that have arrived, and returns their number.
    func takeArrived() -> Int {
      var bytes = [UInt8](repeating: 0, count: 2048)
      var taken = 0
      while clinux_receive_now(descriptor, &bytes, bytes.count) >= 0 { taken += 1 }
      return taken
    }
  }

  private let port = SocketClient.freePort()
  private let other = SocketClient.freePort()

  /// Whether a datagram has whole sentences, and no more than a packet holds.
  private func isWhole(_ datagram: String) -> Bool {
    datagram.hasPrefix("$") && datagram.hasSuffix("\r\n") && datagram.utf8.count <= 1400
  }

  @Test func `datagrams wake no device, are sent while a client listens, and stop when it leaves`() async throws {
    let hub = try ServedHub(
      "nmea: [{ udp: \"127.0.0.1:\(port)\", source: \"fused\" }, { udp: \"127.0.0.1:\(other)\", sentences: [\"GSV\"] }]"
    )
    let (fused, raw) = (try Listener(port), try Listener(other))
    #expect(hub.hasWokenNothing)
    let client = hub.hub.state.subscribe(as: "watch", receiveValue: { _ in })
    let hasCome = fused.receives {
      $0.contains { $0.contains("$GPRMC,") && $0.contains("$PASHR,") && $0.contains("$GPGSV,2,2,") }
    }
    #expect(hasCome, "\(fused.texts.suffix(3)) \(hub.log.values)")
    #expect(raw.receives { $0.joined().contains("$GPGSV,2,2,08,") }, "\(raw.texts.suffix(3))")
    // All sentences of an epoch are in one datagram.
    #expect((fused.texts + raw.texts).allSatisfy(isWhole))
    #expect(fused.texts.allSatisfy { $0.split(separator: "$GPRMC,").count <= 2 })
    #expect(raw.texts.allSatisfy { $0.split(separator: "\r\n").allSatisfy { $0.hasPrefix("$GPGSV,") } })
    #expect(try hub.device("gps").holders == ["watch"])
    client.cancel()
    #expect(hub.comesToRest())
    #expect(try hub.device("gps").wakes == 1)
    // The last client is gone, so nothing follows.
    _ = fused.takeArrived()
    #expect(fused.takeArrived() == 0)
    await hub.end()
  }

  @Test func `a datagram target that keeps the devices awake holds them until a reload removes it`() async throws {
    let socket = try Listener(port)
    let next = try Listener(other)
    let hub = try ServedHub(
      "nmea: [{ udp: \"127.0.0.1:\(port)\", source: \"fused\", sentences: [\"RMC\"], keepsAwake: true }]")
    #expect(socket.receives { $0.contains { $0.contains(",A,52") } })
    #expect(socket.texts.allSatisfy { $0.hasPrefix("$GPRMC,") })
    #expect(try hub.device("gps").holders == ["nmea udp 127.0.0.1:\(port)"])
    try await hub.reload(HubProcess.simulatedBoard("nmea: { udp: \"127.0.0.1:\(other)\", keepsAwake: true }"))
    #expect(next.receives { $0.contains { $0.contains("$GNGGA,") } }, "\(hub.log.values)")
    #expect(try hub.device("gps").holders == ["nmea udp 127.0.0.1:\(other)"])
    try await hub.reload(HubProcess.simulatedBoard("nmea: []"))
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a multicast group is reached through the stated interface`() async throws {
    let socket = try Listener(port, group: [239, 192, 7, 1])
    let hub = try ServedHub("nmea: [{ udp: \"239.192.7.1:\(port)\", interface: \"lo\", keepsAwake: true }]")
    #expect(socket.receives { $0.contains { $0.contains("$GNRMC,") } }, "\(hub.log.values)")
    #expect(hub.logs("sentences go to UDP 239.192.7.1:\(port) via lo"))
    await hub.end()
  }

  @Test func `a datagram that cannot be sent is reported once, counted, and delays no other`() async throws {
    let hub = try ServedHub(
      """
      nmea: [{ udp: "239.192.7.1:\(port)", interface: "nothing0", keepsAwake: true },
        { port: \(other), source: "fused", sentences: ["RMC"] }]
      """)
    let client = WireClient(port: other)
    #expect(client.receives(",A,52"))
    #expect(hub.logs("no sentences go to UDP"))
    // The receiver has sent several epochs by the time at which a position of its own is fused.
    client.forget()
    #expect(client.receives(",A,52"))
    let lines = hub.log.values.filter { $0.contains("no sentences go to UDP") }
    #expect(lines.count == 1 && lines[0].contains("this interface does not exist at present"), "\(lines)")
    let dropped = MetricsReport.text(hub.host).split(separator: "\n").filter {
      $0.contains("output_dropped_values_total{output=\"nmea\"} ")
    }
    #expect(dropped.count == 1 && !dropped[0].hasSuffix(" 0"), "\(dropped)")
    await hub.end()
  }
}
