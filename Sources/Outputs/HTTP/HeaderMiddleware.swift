import CLinux
import Glibc
import HTTPTypes
import Hub
import Hummingbird
import NIOCore

/// Turns errors into answers, and adds to each answer the date, the rule for referrers, and the content policy for
/// browsers: a page may load nothing from other servers except a map that the board file names.
struct HeaderMiddleware: RouterMiddleware {
  typealias Context = HTTPContext

  private let policy: String
  private let referrer: String

  init(tiles: String?) {
    // OpenStreetMap's servers refuse requests without a referrer. Without such a map no server gets a referrer.
    let origin = tiles.flatMap(TileOrigin.init(of:))
    referrer = origin == nil ? "no-referrer" : "strict-origin-when-cross-origin"
    let map = origin.map { " \($0)" } ?? ""
    policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:\(map); "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  }

  func handle(
    _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      response = try await next(request, context)
    } catch let error as HTTPError {
      response = HeaderMiddleware.refusal(error)
    } catch let error as any HTTPResponseError {
      response = try error.response(from: request, context: context)
    }
    response.headers[.date] = HeaderMiddleware.date
    response.headers[.contentSecurityPolicy] = policy
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[HTTPField.Name("Referrer-Policy")!] = referrer
    return response
  }

  /// An error in the library's own format, with a line end for people who read it in a terminal.
  private static func refusal(_ error: HTTPError) -> Response {
    guard let message = error.body else { return Response(status: error.status, headers: error.headers) }
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    json.key("error")
    json.beginObject()
    json.member("message", message)
    json.endObject()
    json.endObject()
    json.endLine()
    var headers = error.headers
    headers[.contentType] = "application/json; charset=utf-8"
    return Response(
      status: error.status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
  }

  /// The present date, for example `Sat, 21 Nov 2026 13:45:00 GMT`.
  private static var date: String {
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      // The process stays in the C locale, which has the names of days and months that HTTP requires.
      strftime(buffer.baseAddress!, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
      return String(cString: buffer.baseAddress!)
    }
  }
}
