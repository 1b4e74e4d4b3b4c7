import HTTPTypes
import Hummingbird

/// Explains why nothing was found: the path does not exist, or it needs another method.
struct MissingMiddleware: RouterMiddleware {
  typealias Context = HTTPContext

  let routes: [HTTPRoute]

  func handle(
    _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as HTTPError where error.status == .notFound && error.body == nil {
      let methods = routes.filter { $0.matches(request.uri.path) }.map(\.method)
      guard !methods.isEmpty else {
        let guide = routes.contains { $0.matches("openapi.yaml") } ? "; /openapi.yaml lists all paths" : ""
        throw HTTPError(.notFound, message: "there is nothing under this path\(guide)")
      }
      let allowed = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }.joined(separator: ", ")
      throw HTTPError(.methodNotAllowed, headers: [.allow: allowed], message: "this path accepts \(allowed)")
    }
  }
}
