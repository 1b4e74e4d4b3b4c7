import HTTPTypes
import Hummingbird
import NIOCore

/// A route: one path, one method, and its handler.
struct HTTPRoute: Sendable {
  let method: HTTPRequest.Method
  let path: RouterPath
  let respond: @Sendable (Request, HTTPContext) async throws -> Response

  /// - Parameter words: the permitted parameters, each once; a request with any other parameter is refused
  init(
    _ method: HTTPRequest.Method, _ path: RouterPath, asking words: [String] = [],
    _ respond: @escaping @Sendable (Request, HTTPContext) async throws -> Response
  ) {
    self.init(method: method, path: path) { request, context in
      try HTTPQuery.require(words, of: request)
      return try await respond(request, context)
    }
  }

  private init(
    method: HTTPRequest.Method, path: RouterPath,
    respond: @escaping @Sendable (Request, HTTPContext) async throws -> Response
  ) {
    self.method = method
    self.path = path
    self.respond = respond
  }

  /// A page or one of its documents. Other sites and caches append their own parameters to the address, so every
  /// parameter is accepted.
  static func page(
    _ path: RouterPath, _ respond: @escaping @Sendable (Request, HTTPContext) async throws -> Response
  ) -> HTTPRoute {
    HTTPRoute(method: .get, path: path, respond: respond)
  }

  /// A document that stays the same until the executable changes.
  static func document(_ path: RouterPath, _ type: String, _ bytes: [UInt8]) -> HTTPRoute {
    let document = HTTPDocument(lasting: ByteBuffer(bytes: bytes), type: type)
    return page(path) { request, _ in document.response(to: request) }
  }

  /// Whether the route has this path, for any method.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return parts.count == self.path.count && zip(self.path, parts).allSatisfy { $0 ~= $1 }
  }
}

/// Normalizes paths, so that they can be compared.
enum PathEncoding {
  /// A request's target without unnecessary encoding in its path (RFC 3986, section 6.2.2.2). Necessary encoding stays:
  /// an encoded slash, `%2F`, does not separate parts.
  static func normalized(_ target: String) -> String {
    let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    guard target[..<end].utf8.contains(UInt8(ascii: "%")) else { return target }
    return String(decoding: decode(target[..<end], where: isUnreserved), as: UTF8.self) + target[end...]
  }

  /// One part of a path, decoded.
  static func decoded(_ part: String) -> String { String(decoding: decode(part[...]) { _ in true }, as: UTF8.self) }

  private static func decode(_ text: Substring, where isWanted: (UInt8) -> Bool) -> [UInt8] {
    let bytes = Array(text.utf8)
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
        let low = digit(bytes[index + 2]), isWanted(high << 4 | low)
      {
        decoded.append(high << 4 | low)
        index += 3
      } else {
        decoded.append(bytes[index])
        index += 1
      }
    }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
