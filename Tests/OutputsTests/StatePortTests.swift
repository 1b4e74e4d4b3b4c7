import CLinux
import Glibc
import Hub
import TestSupport
import Testing

@testable import Outputs

/// Clients of the Unix sockets that do not follow the protocol.
@Suite(.timeLimit(.minutes(10))) struct StatePortTests {
  @Test func `clients that send nonsense or shut down their connections do no harm and are forgotten`() async throws {
    let hub = try ServedHub("")
    // One client sends nonsense and never reads. The other stops reading and announces that.
    let mad = WireClient(path: hub.path.state)
    for _ in 0..<50 { mad.sendNow(Array(String(repeating: "nonsense\n", count: 200).utf8)) }
    let deaf = SocketClient.connect(path: hub.path.state)
    defer { close(deaf) }
    shutdown(deaf, Int32(SHUT_RD))
    let client = WireClient(path: hub.path.state)
    #expect(client.receives("\"position\":{"))
    client.leave()
    mad.leave()
    shutdown(deaf, Int32(SHUT_RDWR))
    #expect(hub.comesToRest())
    #expect(hub.hub.devices.allSatisfy { $0.holders.isEmpty })
    await hub.end()
  }
}
