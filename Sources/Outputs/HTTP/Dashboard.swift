import Hub
import HTTPTypes
import Hummingbird
import Publishing

/// The page for people: one document, its style and its script, all of them in the executable.
struct Dashboard {
  /// Where the page finds the map of a board whose map is a file.
  private static let mapPath = "tiles.pmtiles"

  let host: HubHost
  /// What reads the map.
  private let threads = ReadingThreads()

  init(host: HubHost) { self.host = host }

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
      HTTPRoute(.get, RouterPath(Dashboard.mapPath)) { request, _ in
        guard let path = host.hub.value.board.http?.tileFile else {
          throw HTTPError(.notFound, message: "this board has no map file; 'tiles' in its board file names one")
        }
        return try await TileFile(path: path).response(to: request, on: threads)
      },
    ]
  }

  private func page(_ board: Board) -> HTTPDocument {
    let tiles = board.http?.tileFile == nil ? board.http?.tiles : Dashboard.mapPath
    let page = HTMLText.filled(
      PackageResources.dashboard_html,
      [
        "board": board.name, "tiles": tiles ?? "", "attribution": board.http?.credit ?? "",
        "records": RecordedHistory.folder(of: host) == nil ? "" : "yes", "replay": host.replay == nil ? "" : "yes",
        "fences": board.fences.isEmpty ? "" : "yes",
      ])
    return HTTPDocument(lasting: ByteBuffer(bytes: page), type: "text/html; charset=utf-8")
  }
}
