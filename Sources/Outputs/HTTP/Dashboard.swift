import Hub
import HTTPTypes
import Hummingbird
import Publishing

/// The page for people: one document, its style and its script, all of them in the executable.
struct Dashboard {
  let host: HubHost

  func addRoutes(to router: Router<HTTPContext>) {
    router.get("") { _, _ in
      let board = host.hub.value.board
      var page = String(decoding: PackageResources.dashboard_html, as: UTF8.self)
      for (mark, text) in [("{{board}}", board.name), ("{{tiles}}", board.http?.tiles ?? "")] {
        page = page.replacing(mark, with: Dashboard.escaped(text))
      }
      return Response(
        status: .ok, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
    }
    add("dashboard.css", "text/css; charset=utf-8", PackageResources.dashboard_css, to: router)
    add("dashboard.js", "text/javascript; charset=utf-8", PackageResources.dashboard_js, to: router)
    add("openapi.yaml", "application/yaml", PackageResources.openapi_yaml, to: router)
  }

  private func add(_ path: RouterPath, _ type: String, _ bytes: [UInt8], to router: Router<HTTPContext>) {
    // Browsers ask whether what they have is still right; it is, until the executable is another one.
    let digest = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let tag = "\"\(String(digest, radix: 36))\""
    let body = ByteBuffer(bytes: bytes)
    router.get(path) { request, _ in
      if request.headers[.ifNoneMatch] == tag { return Response(status: .notModified, headers: [.eTag: tag]) }
      return Response(
        status: .ok, headers: [.contentType: type, .cacheControl: "no-cache", .eTag: tag],
        body: ResponseBody(byteBuffer: body))
    }
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }
}
