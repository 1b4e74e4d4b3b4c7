import Hub

/// A port that other machines can find by DNS-SD over mDNS (RFC 6763).
struct Announcement: Equatable, Sendable {
  /// The service type, for example `_gpsd._tcp`.
  var type: String
  var port: UInt16
  /// The TXT record, one member per line.
  var text = ""

  /// The board's TCP ports for gpsd, NMEA, HTTP and Signal K. Ports on a loopback address are left out.
  static func all(of board: Board, version: String) -> [Announcement] {
    var all: [Announcement] = []
    func add(_ type: String, _ endpoint: TCPEndpoint?, _ text: String = "") {
      guard let endpoint, !endpoint.isLoopback else { return }
      let new = Announcement(type: type, port: endpoint.port, text: text)
      if !all.contains(new) { all.append(new) }
    }
    add("_gpsd._tcp", board.gpsdEndpoint)
    // GeoClue reads the accuracy of the positions from this TXT member.
    for port in board.nmea { add("_nmea-0183._tcp", port.endpoint, "accuracy=exact") }
    add("_http._tcp", board.http?.endpoint, "path=/")
    let vessel = SignalKVessel.context(mmsi: board.signalK?.mmsi)
    add(
      "_signalk-tcp._tcp", board.signalK?.endpoint,
      "txtvers=1\nroles=master, main\nswname=sensorhub\nswvers=\(version)\nself=\(vessel)")
    return all
  }
}
