import HTTPTypes
import Hummingbird
import NIOCore

/// One path under one method, and what answers it.
struct HTTPRoute: Sendable {
  let method: HTTPRequest.Method
  let path: RouterPath
  let respond: @Sendable (Request, HTTPContext) async throws -> Response

  /// - Parameter words: the permitted parameters, each once; any other is refused before anything is done
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

  /// A page or what belongs to one: other sites and caches hang words of their own on its address, which change nothing.
  static func page(
    _ path: RouterPath, _ respond: @escaping @Sendable (Request, HTTPContext) async throws -> Response
  ) -> HTTPRoute {
    HTTPRoute(method: .get, path: path, respond: respond)
  }

  /// What stays as it is until the executable is another one.
  static func document(_ path: RouterPath, _ type: String, _ bytes: [UInt8]) -> HTTPRoute {
    let document = HTTPDocument(lasting: ByteBuffer(bytes: bytes), type: type)
    return page(path) { request, _ in document.response(to: request) }
  }

  /// Whether the route is that of a path, for any method.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return parts.count == self.path.count && zip(self.path, parts).allSatisfy { $0 ~= $1 }
  }
}
