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
