import Hub
import HTTPTypes
import Hummingbird
import Publishing

/// The routes of the dashboard, of its map file, and of the descriptions for OpenAPI and Grafana. The executable
/// contains all of these documents except the map file.
struct Dashboard {
  /// The path of the map if the board's map is a file.
  private static let mapPath = "tiles.pmtiles"

  let host: HubHost
  private let threads = ReadingThreads()

  init(host: HubHost) { self.host = host }

  private static var styles: [(path: RouterPath, bytes: [UInt8])] {
    [("dashboard.css", EmbeddedFile.dashboardCSS), ("wall.css", EmbeddedFile.wallCSS)]
  }

  private static var scripts: [(path: RouterPath, bytes: [UInt8])] {
    [
      ("dashboard.js", EmbeddedFile.dashboardJS), ("words.js", EmbeddedFile.wordsJS),
      ("settings.js", EmbeddedFile.settingsJS), ("map.js", EmbeddedFile.mapJS),
      ("camera.js", EmbeddedFile.cameraJS), ("pmtiles.js", EmbeddedFile.pmtilesJS),
      ("pictures.js", EmbeddedFile.picturesJS), ("trend.js", EmbeddedFile.trendJS),
      ("anchor.js", EmbeddedFile.anchorJS),
    ]
  }

  /// A digest of the page's documents. A page that stays open for months compares it, and so notices that the hub has
  /// a new version.
  private static let digest: String = {
    let documents = [EmbeddedFile.dashboardHTML] + styles.map(\.bytes) + scripts.map(\.bytes)
    // The documents are copied into one array, because a debug build takes six times as long to go through joined ones.
    return HTTPDocument.digest(of: documents.flatMap { $0 })
  }()

  var routes: [HTTPRoute] {
    [
      .page("") { request, _ in
        page(host.hub.board).response(to: request)
      },
      .document("openapi.yaml", "application/yaml", EmbeddedFile.openapiYAML),
      .document("grafana.json", "application/json", EmbeddedFile.grafanaJSON),
      HTTPRoute(.get, RouterPath(Dashboard.mapPath)) { request, _ in
        guard let path = host.hub.board.http?.tileFile else {
          throw HTTPError(.notFound, message: "this board has no map file; set 'tiles' in its board file to one")
        }
        return try await TileFile(path: path).response(to: request, on: threads)
      },
    ] + Dashboard.styles.map { .document($0.path, "text/css; charset=utf-8", $0.bytes) }
      + Dashboard.scripts.map { .document($0.path, "text/javascript; charset=utf-8", $0.bytes) }
  }

  private func page(_ board: Board) -> HTTPDocument {
    let tiles = board.http?.tileFile == nil ? board.http?.tiles : Dashboard.mapPath
    let page = HTMLText.filled(
      EmbeddedFile.dashboardHTML,
      [
        "board": board.name, "tiles": tiles ?? "", "attribution": board.http?.credit ?? "",
        "records": RecordedHistory.folder(of: host) == nil ? "" : "yes", "replay": host.replay == nil ? "" : "yes",
        "fences": board.fences.isEmpty ? "" : "yes", "version": "\(host.version)-\(Dashboard.digest)",
      ])
    return HTTPDocument(lasting: ByteBuffer(bytes: page), type: "text/html; charset=utf-8")
  }
}
