import HTTPTypes
import Hummingbird

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

  /// Whether the route is that of a path, whatever the method.
  func matches(_ path: String) -> Bool {
    let parts = path.split(separator: "/")
    return parts.count == self.path.count && zip(self.path, parts).allSatisfy { $0 ~= $1 }
  }
}
