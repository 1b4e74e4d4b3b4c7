import FoundationEssentials
import Hub

/// A request to a caster: for a mount point, or for its table of mount points.
enum CasterRequest {
  /// - Parameters:
  ///   - mountPoint: empty for the table
  ///   - password: the user's password, if the board file names one
  ///   - position: the receiver's position as a GGA sentence, if it is known and should be sent; left out for NTRIP 1
  ///   - version: the version of this program
  static func make(
    _ mountPoint: String, of caster: CasterSettings, password: String, position: String?, version: String
  ) -> [UInt8] {
    var lines = ["GET /\(mountPoint) HTTP/1.\(caster.version == 1 ? 0 : 1)"]
    lines.append("Host: \(caster.authority)")
    if caster.version == 2 { lines.append("Ntrip-Version: Ntrip/2.0") }
    // The value must begin with the protocol's name: without it, some casters treat a client as a browser.
    lines.append("User-Agent: NTRIP sensorhub/\(version)")
    if let username = caster.username {
      lines.append("Authorization: Basic \(Data("\(username):\(password)".utf8).base64EncodedString())")
    }
    if let position, caster.version == 2 { lines.append("Ntrip-GGA: \(position.filter { !$0.isNewline })") }
    lines.append("Connection: close")
    return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
  }
}
