import Hub
import HTTPTypes
import Hummingbird
import Publishing

/// The page for people: one document, its style and its script, all of them in the executable.
struct Dashboard {
  let host: HubHost

  var routes: [HTTPRoute] {
    [
      HTTPRoute(.get, "") { request, _ in
        page(host.hub.value.board).response(to: request)
      },
      document("dashboard.css", "text/css; charset=utf-8", PackageResources.dashboard_css),
      document("dashboard.js", "text/javascript; charset=utf-8", PackageResources.dashboard_js),
      document("openapi.yaml", "application/yaml", PackageResources.openapi_yaml),
      document("grafana.json", "application/json", PackageResources.grafana_json),
    ]
  }

  private func page(_ board: Board) -> HTTPDocument {
    var page = String(decoding: PackageResources.dashboard_html, as: UTF8.self)
    for (mark, text) in [
      ("{{board}}", board.name), ("{{tiles}}", board.http?.tiles ?? ""), ("{{attribution}}", board.http?.credit ?? ""),
      ("{{records}}", RecordedHistory.folder(of: host) == nil ? "" : "yes"),
      ("{{replay}}", host.replay == nil ? "" : "yes"),
    ] {
      page = page.replacing(mark, with: Dashboard.escaped(text))
    }
    return HTTPDocument(lasting: ByteBuffer(string: page), type: "text/html; charset=utf-8")
  }

  private func document(_ path: RouterPath, _ type: String, _ bytes: [UInt8]) -> HTTPRoute {
    let document = HTTPDocument(lasting: ByteBuffer(bytes: bytes), type: type)
    return HTTPRoute(.get, path) { request, _ in document.response(to: request) }
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }
}
