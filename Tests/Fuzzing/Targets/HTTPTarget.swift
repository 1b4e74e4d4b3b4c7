import HTTPTypes
import Hummingbird
import NIOCore

@testable import Outputs

/// The target of a request as the client wrote it. The text after a line end is the token.
enum HTTPTarget {
  private static let token = AccessToken(Array("sixteen letters!".utf8))

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let target = String(decoding: lines[0], as: UTF8.self)
    let path = PathEncoding.normalized(target)
    require(path.utf8.count <= target.utf8.count, "\(path) is longer than \(target)")
    require(query(path) == query(target), "the query has changed: \(path)")

    var head = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path)
    if lines.count > 1 { head.headerFields[.authorization] = String(decoding: lines[1], as: UTF8.self) }
    let request = Request(head: head, body: RequestBody(buffer: ByteBuffer()))
    for part in request.uri.path.split(separator: "/") { _ = PathEncoding.decoded(String(part)) }
    requireNumber("rate", request, 0.01...1000)
    requireNumber("for", request, 1...86_400)
    _ = try? HTTPQuery.text("hold", of: request)
    _ = token.isBrought(by: request.headers)
  }

  private static func query(_ target: String) -> Substring? {
    target.utf8.firstIndex(of: UInt8(ascii: "?")).map { target[$0...] }
  }

  private static func requireNumber(_ name: Substring, _ request: Request, _ range: ClosedRange<Double>) {
    guard let number = try? HTTPQuery.number(name, of: request, in: range) else { return }
    require(range.contains(number), "\(name) is \(number)")
  }
}
