import CEmbeddedFiles

/// The bytes of the files that are compiled into the program. Each use makes a copy.
enum EmbeddedFile {
  static var dashboardHTML: [UInt8] { bytes(of: embedded_dashboard_html()) }
  static var dashboardCSS: [UInt8] { bytes(of: embedded_dashboard_css()) }
  static var wallCSS: [UInt8] { bytes(of: embedded_wall_css()) }
  static var dashboardJS: [UInt8] { bytes(of: embedded_dashboard_js()) }
  static var wordsJS: [UInt8] { bytes(of: embedded_words_js()) }
  static var settingsJS: [UInt8] { bytes(of: embedded_settings_js()) }
  static var mapJS: [UInt8] { bytes(of: embedded_map_js()) }
  static var cameraJS: [UInt8] { bytes(of: embedded_camera_js()) }
  static var pmtilesJS: [UInt8] { bytes(of: embedded_pmtiles_js()) }
  static var picturesJS: [UInt8] { bytes(of: embedded_pictures_js()) }
  static var trendJS: [UInt8] { bytes(of: embedded_trend_js()) }
  static var anchorJS: [UInt8] { bytes(of: embedded_anchor_js()) }
  static var fleetHTML: [UInt8] { bytes(of: embedded_fleet_html()) }
  static var fleetCSS: [UInt8] { bytes(of: embedded_fleet_css()) }
  static var fleetJS: [UInt8] { bytes(of: embedded_fleet_js()) }
  static var openapiYAML: [UInt8] { bytes(of: embedded_openapi_yaml()) }
  static var grafanaJSON: [UInt8] { bytes(of: embedded_grafana_json()) }

  private static func bytes(of file: embedded_file) -> [UInt8] {
    Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
  }
}
