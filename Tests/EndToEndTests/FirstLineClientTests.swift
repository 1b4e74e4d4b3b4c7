import CLinux
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Imitates the client in Home Assistant (gps3 0.33.3). It checks whether data waits, keeps the first line and
/// throws the rest away. It repeats this at once while there is more, and checks again 0.2 s after there was nothing.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FirstLineClientTests {
  private static let interval = 0.2
  /// The number of bytes that Python reads at once.
  private static let chunk = 8192

  private final class Client {
    let descriptor: Int32
    var nextLook: Double
    var looks = 0
    /// The number of looks that found more than one epoch, so they came late.
    var lateLooks = 0
    /// The number of looks with data until the first position, and until the first satellites.
    var position: Int?
    var satellites: Int?
    var wrongPositions = 0

    init(port: UInt16, nextLook: Double) {
      descriptor = SocketClient.connect(port: port)
      self.nextLook = nextLook
      let request = Array("?WATCH={\"enable\":true,\"json\":true}".utf8)
      _ = request.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }

    deinit { close(descriptor) }

    /// Counts only looks that find data, because the time until then depends on the machine as well.
    func look() {
      var bytes = [UInt8](repeating: 0, count: FirstLineClientTests.chunk)
      var waited: [UInt8] = []
      while case let count = clinux_receive_now(descriptor, &bytes, bytes.count), count > 0 {
        if waited.isEmpty { looks += 1 }
        waited += bytes[..<count]
        let line = bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }
        guard let report = try? JSONDecoder().decode(GPSDTunnelTests.Report.self, from: Data(line)) else { continue }
        // The client has one attribute for all classes with a member of that name, so it would take a GST's metres for
        // degrees.
        if let latitude = report.lat {
          if abs(latitude - 52.516) > 0.1 { wrongPositions += 1 } else { position = position ?? looks }
        }
        if report.class == "SKY" { satellites = satellites ?? looks }
      }
      let lines = String(decoding: waited, as: UTF8.self).split(whereSeparator: \.isNewline)
      if lines.count(where: { $0.hasPrefix("{\"class\":\"TPV\"") }) > 1 { lateLooks += 1 }
    }

    /// The number of looks in which the client must have seen something. An idle machine needs at most `count`. A late
    /// look finds several epochs and keeps only the first line, so it may miss the epoch whose satellites come first.
    /// Two more looks are allowed for each late one.
    func allowed(_ count: Int) -> Int { count + 2 * lateLooks }
  }

  private func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test func `a client that connects briefly at any time soon gets a position, and satellites now and then`() {
    let port = SocketClient.freePort()
    let hub = HubProcess.simulated(gpsd: port, nmea: SocketClient.freePort())
    let other = SocketClient(port: port)
    other.send("?WATCH={\"enable\":true,\"json\":true};")
    #expect(other.receives("\"mode\":3"))
    // Twenty clients look at different moments between two epochs.
    let start = now()
    let clients = (0..<20).map { Client(port: port, nextLook: start + FirstLineClientTests.interval * Double($0) / 20) }
    let isDone = eventually(within: .seconds(240)) {
      let present = now()
      for client in clients where client.nextLook <= present {
        client.look()
        client.nextLook = now() + FirstLineClientTests.interval
      }
      return clients.allSatisfy { $0.position != nil && $0.satellites != nil || $0.looks >= $0.allowed(75) }
    }
    #expect(isDone)
    for client in clients {
      #expect(
        client.position.map { $0 <= client.allowed(15) } == true,
        "three seconds: \(String(describing: client.position)) looks")
      #expect(
        client.satellites.map { $0 <= client.allowed(75) } == true,
        "fifteen seconds: \(String(describing: client.satellites))")
      #expect(client.wrongPositions == 0)
    }
    #expect(hub.stop() == 0)
  }
}
