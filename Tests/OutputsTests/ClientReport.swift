import FoundationEssentials
import TestSupport

/// A report in the gpsd protocol.
struct ClientReport: Decodable {
  var `class`: String
  var device, path, time, activated: String?
  var mode, active, status: Int?
  var lat, lon, cycle: Double?
}

extension WireClient {
  /// The complete reports of a class that were read; `nil` for all classes.
  func reports(_ name: String? = nil) -> [ClientReport] {
    lines.compactMap { line in
      guard name == nil || line.hasPrefix("{\"class\":\"\(name ?? "")\"") else { return nil }
      return try? JSONDecoder().decode(ClientReport.self, from: Data(line.utf8))
    }
  }

  /// Requests a watch of the gpsd protocol with these members besides `enable`.
  func watch(_ members: String = #""json":true"#) { send("?WATCH={\"enable\":true,\(members)};") }
}
