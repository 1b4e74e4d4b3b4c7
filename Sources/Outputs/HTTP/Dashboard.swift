import Hub
import HTTPTypes
import Hummingbird
import Publishing

/// The page for people: one document, its style and its script, all of them in the executable.
struct Dashboard {
  let host: HubHost

  var routes: [HTTPRoute] {
    [
      .page("") { request, _ in
        page(host.hub.value.board).response(to: request)
      },
      .document("dashboard.css", "text/css; charset=utf-8", PackageResources.dashboard_css),
      .document("dashboard.js", "text/javascript; charset=utf-8", PackageResources.dashboard_js),
      .document("map.js", "text/javascript; charset=utf-8", PackageResources.map_js),
      .document("openapi.yaml", "application/yaml", PackageResources.openapi_yaml),
      .document("grafana.json", "application/json", PackageResources.grafana_json),
    ]
  }

  private func page(_ board: Board) -> HTTPDocument {
    let page = HTMLText.filled(
      PackageResources.dashboard_html,
      [
        "board": board.name, "tiles": board.http?.tiles ?? "", "attribution": board.http?.credit ?? "",
        "records": RecordedHistory.folder(of: host) == nil ? "" : "yes", "replay": host.replay == nil ? "" : "yes",
        "fences": board.fences.isEmpty ? "" : "yes",
      ])
    return HTTPDocument(lasting: ByteBuffer(bytes: page), type: "text/html; charset=utf-8")
  }
}
