import HTTPTypes
import Hummingbird
import NIOCore

/// One path under one method, and what answers it.
struct HTTPRoute: Sendable {
  let method: HTTPRequest.Method
  let path: RouterPath
  let respond: @Sendable (Request, HTTPContext) async throws -> Response

  init(
    _ method: HTTPRequest.Method, _ path: RouterPath,
    _ respond: @escaping @Sendable (Request, HTTPContext) async throws -> Response
  ) {
    self.method = method
    self.path = path
    self.respond = respond
  }

  /// What stays as it is until the executable is another one.
  static func document(_ path: RouterPath, _ type: String, _ bytes: [UInt8]) -> HTTPRoute {
    let document = HTTPDocument(lasting: ByteBuffer(bytes: bytes), type: type)
    return HTTPRoute(.get, path) { request, _ in document.response(to: request) }
  }

  /// Whether the route is that of a path, whatever the method.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return parts.count == self.path.count && zip(self.path, parts).allSatisfy { $0 ~= $1 }
  }
}
