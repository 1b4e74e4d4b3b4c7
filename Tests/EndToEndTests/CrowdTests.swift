import CLinux
import Glibc
import TestSupport
import Testing

/// Hundreds of clients that connect at once, more than a hub can accept at that moment.
@Suite(.timeLimit(.minutes(10))) struct CrowdTests {
  private static let size = 500

  /// A client that does not wait for its connection.
  private final class Visitor {
    private let descriptor: Int32
    private var received: [UInt8] = []

    init(_ port: UInt16) {
      descriptor = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
      precondition(descriptor >= 0, "no descriptor left")
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = port.bigEndian
      name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      withUnsafePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }

    deinit { close(descriptor) }

    var isConnected: Bool { FullListener.isConnected(descriptor) }

    func send(_ text: String) {
      let bytes = Array(text.utf8)
      _ = clinux_send_now(descriptor, bytes, bytes.count)
    }

    /// Everything received until now.
    var text: String {
      var chunk = [UInt8](repeating: 0, count: 4096)
      while case let count = clinux_receive_now(descriptor, &chunk, chunk.count), count > 0 {
        received += chunk[..<count]
      }
      return String(decoding: received, as: UTF8.self)
    }
  }

  /// A stopped hub admits no client. A client that finds no room in the port's queue gets no answer, and tries again
  /// after one, three and seven seconds, which should not be necessary for any client here.
  @Test func `five hundred clients that connect to each port at once are all queued and served`() {
    WireClient.allowCrowds()
    let ports = (0..<3).map { _ in SocketClient.freePort() }
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "gpsd: { port: \(ports[0]) }, nmea: { port: \(ports[1]) }, http: { port: \(ports[2]) }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    #expect(hub.logs("gpsd protocol on") && hub.logs("NMEA 0183 on"))
    #expect(hub.program.halt())
    let crowds = ports.map { port in (0..<CrowdTests.size).map { _ in Visitor(port) } }
    for (port, crowd) in zip(["gpsd", "nmea", "http"], crowds) {
      let haveRoom = eventually { crowd.allSatisfy(\.isConnected) }
      #expect(haveRoom, "\(port): \(crowd.count { !$0.isConnected }) of \(crowd.count) found no room")
    }
    let browsers = crowds[2]
    for browser in browsers { browser.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") }
    hub.program.send(SIGCONT)
    let areServed = eventually { browsers.allSatisfy { $0.text.hasSuffix("\r\n\r\nok\n") } }
    #expect(areServed, "\(browsers.count { !$0.text.hasSuffix("\r\n\r\nok\n") }) of \(browsers.count) have no answer")
    #expect(hub.stop() == 0)
  }
}
