import Hub
import TestSupport
import Testing

@testable import Outputs

/// The hub's side of a WebSocket, without a connection.
struct WebSocketTests {
  /// The key and the answer of RFC 6455, section 1.3.
  private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
  private static let answer =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

  private func failure(_ answer: String) -> WebSocketHandshake.Failure? {
    var handshake = WebSocketHandshake(key: WebSocketTests.key)
    do throws(WebSocketHandshake.Failure) {
      _ = try handshake.take(Array(answer.utf8))
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    (String(repeating: "a", count: 1000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
  ])
  func `the hash has the values of the standard`(_ message: String, _ expected: String) {
    let text = SHA1.digest(Array(message.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(text == expected)
  }

  @Test func `a request names the stream, the key and the token`() {
    let server = ServerAddress(host: "::1", port: 3000)
    let handshake = WebSocketHandshake(key: WebSocketTests.key)
    let request = handshake.request("/signalk/v1/stream?subscribe=none", of: server, token: "a.b.c", version: "1")
    let text = String(decoding: request, as: UTF8.self)
    #expect(text.hasPrefix("GET /signalk/v1/stream?subscribe=none HTTP/1.1\r\nHost: [::1]:3000\r\n"), "\(text)")
    #expect(text.contains("\r\nAuthorization: Bearer a.b.c\r\n") && text.hasSuffix("\r\n\r\n"), "\(text)")
    #expect(text.contains("\r\nSec-WebSocket-Key: \(WebSocketTests.key)\r\n"), "\(text)")
  }

  @Test(arguments: [1, 2, 3, 5, 1000]) func `an answer is read in any pieces, up to the first frame`(_ size: Int) throws
  {
    var handshake = WebSocketHandshake(key: WebSocketTests.key)
    let bytes = Array(WebSocketTests.answer.utf8) + [0x89, 0]
    var rest: [UInt8]?
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      if rest != nil { rest? += piece } else { rest = try handshake.take(piece).map(Array.init) }
    }
    #expect(rest == [0x89, 0])
  }

  @Test func `other answers are refused`() {
    #expect(failure("HTTP/1.1 401 Unauthorized\r\n\r\n") == .unauthorised)
    #expect(failure("HTTP/1.1 302 Found\r\nLocation: https://b:3443/\r\n\r\n") == .moved(to: "https://b:3443/"))
    #expect(failure("HTTP/1.1 404 Not Found\r\n\r\n") == .noWebSocket("HTTP/1.1 404 Not Found"))
    #expect(failure("HTTP/1.1 200 OK\r\n\r\n") == .noWebSocket("HTTP/1.1 200 OK"))
    #expect(failure("SSH-2.0-OpenSSH_9.2p1\r\n") == .noWebSocket("SSH-2.0-OpenSSH_9.2p1"))
    // The hash belongs to another key.
    let other = WebSocketTests.answer.replacing("s3pP", with: "S3pP")
    #expect(failure(other) == .noWebSocket("HTTP/1.1 101 Switching Protocols"))
    #expect(failure("HTTP/1.1 101 X\r\nA: " + String(repeating: "a", count: 9000)) == .noWebSocket(""))
    #expect(failure("HTTP/1.1 101 X\r\nA: a") == nil)
  }

  @Test func `a message is masked in one frame`() {
    // RFC 6455, section 5.7.
    let hello: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
    #expect(WebSocketFrame.encode(.text, Array("Hello".utf8), mask: 0x37FA_213D) == hello)
    for (count, head) in [(125, [0x81, 0xFD]), (126, [0x81, 0xFE, 0, 126]), (65_535, [0x81, 0xFE, 0xFF, 0xFF])] {
      let frame = WebSocketFrame.encode(.text, [UInt8](repeating: 7, count: count), mask: 0)
      #expect(Array(frame.prefix(head.count)) == head.map { UInt8($0) } && frame.count == head.count + 4 + count)
    }
    let large = WebSocketFrame.encode(.text, [UInt8](repeating: 7, count: 65_536), mask: 0)
    #expect(Array(large.prefix(10)) == [0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0] && large.count == 14 + 65_536)
  }

  @Test(arguments: [1, 3, 7, 100_000]) func `frames are read in any pieces, and messages are dropped`(_ size: Int)
    throws
  {
    var bytes: [UInt8] = [0x01, 3, 1, 2, 3]
    bytes += [0x89, 2, 8, 9]
    bytes += [0x80, 126, 0x10, 0] + [UInt8](repeating: 5, count: 4096)
    bytes += [0x8A, 0, 0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0] + [UInt8](repeating: 5, count: 65_536)
    bytes += [0x88, 0, 0x88, 4, 0x03, 0xF0, 0x41, 0x42]
    var reader = WebSocketReader()
    var events: [WebSocketReader.Event] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      events += try reader.take(bytes[start..<min(start + size, bytes.count)])
    }
    #expect(events == [.ping([8, 9]), .close(nil), .close(1008)])
  }

  @Test(
    arguments: [
      [0x81, 0x80], [0xC1, 0], [0x83, 0], [0x09, 0], [0x89, 126, 0, 126], [0x82, 127, 0xFF, 0, 0, 0, 0, 0, 0, 0],
    ] as [[UInt8]])
  func `a frame that no server may send is refused`(_ bytes: [UInt8]) {
    var reader = WebSocketReader()
    #expect(throws: WebSocketReader.Broken.self) { try reader.take(bytes[...]) }
  }

  @Test func `no bytes do harm`() {
    var random = SeededRandom()
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...64, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      var reader = WebSocketReader()
      for event in (try? reader.take(bytes[...])) ?? [] {
        if case .ping(let content) = event { #expect(content.count <= 125) }
      }
      var handshake = WebSocketHandshake(key: WebSocketTests.key)
      _ = try? handshake.take(Array("HTTP/1.1 101 ".utf8) + bytes + Array("\r\n\r\n".utf8))
    }
  }
}
