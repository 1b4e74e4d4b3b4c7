import Glibc
import TestSupport
import Testing

@testable import Outputs

/// The first bytes that a raw bridge admits, and the end of a client that does not read.
struct BridgeOutputTests {
  @Test(arguments: [
    [0xB5, 0x62, 0x0A, 0x04] as [UInt8], [0xBA, 0xCE], [0xD3, 0x00], [0xA0, 0xA1], [0xFF, 0xFF],
    Array("$PMTK605*31\r\n".utf8), Array("UNILOGLIST\r\n".utf8), Array("\r\nMODE ROVER\r\n".utf8), Array("UUUU\n".utf8),
  ])
  func `messages of receivers' protocols are admitted`(_ bytes: [UInt8]) {
    #expect(ForeignProtocol.verdict(on: bytes, permitsBinary: StreamKind.bridge.permitsBinary) == .other)
  }

  @Test(arguments: [
    Array("GET / HTTP/1.1\r\n".utf8), Array("POST / HTTP/1.1\r\n".utf8), Array("\r\nPUT /x".utf8),
    Array("FOO /x HTTP/1.1\r\n".utf8), [22, 3, 1, 2, 0], [0, 3, 0, 8, 0x21, 0x12, 0xA4, 0x42], [0, 20, 0, 1],
    // The hello of SSL 2 with which Chromium begins a WebRTC candidate of the protocol `ssltcp`.
    [0x80, 0x46, 0x01, 0x03, 0x01, 0x00, 0x2D],
  ])
  func `bytes that a web page can send are refused`(_ bytes: [UInt8]) {
    #expect(ForeignProtocol.verdict(on: bytes, permitsBinary: StreamKind.bridge.permitsBinary) == .foreign)
  }

  @Test func `binary messages are foreign to the other ports`() {
    for kind in StreamKind.allCases where kind != .bridge {
      #expect(ForeignProtocol.verdict(on: [0xB5, 0x62], permitsBinary: kind.permitsBinary) == .foreign)
    }
  }

  @Test func `a client that does not read is disconnected, and loses no byte before`() {
    var ends: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let (own, other) = (ends[0], ends[1])
    let traffic = OutputTraffic().bridge
    let connection = StreamConnection(
      descriptor: own, peer: ClientPeer(by: "u-center"), traffic: traffic, wantsToWrite: {})
    var sent = 0
    var isConnected = true
    for number in 0..<100_000 where isConnected {
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1000)
      isConnected = bytes.withUnsafeBufferPointer { connection.sendWhole($0) }
      sent += 1
    }
    #expect(!isConnected && sent > 64)
    // Nothing follows, and the disconnection is reported once.
    #expect([1].withUnsafeBufferPointer { connection.sendWhole($0) })
    var chunk = [UInt8](repeating: 0, count: 4096)
    var received: [UInt8] = []
    while case let count = recv(other, &chunk, chunk.count, 0), count > 0 { received += chunk[..<count] }
    #expect(received.count > 1000 && received.count < sent * 1000)
    let isInOrder = received.indices.allSatisfy { received[$0] == UInt8(truncatingIfNeeded: $0 / 1000) }
    #expect(isInOrder)
    connection.close()
    close(other)
  }
}
