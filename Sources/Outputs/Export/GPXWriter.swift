import Recording

/// A track as GPX 1.1 (<https://www.topografix.com/GPX/1/1/>).
///
/// GPX has no value for dead reckoning without satellites: `fix` is `none`, and the extensions contain
/// `deadReckoning` and its accuracy.
public struct GPXWriter<Output: TrackOutput>: TrackWriter, ~Copyable {
  private let output: Output
  private let name: String
  private let version: String
  private var text = JSONWriter(capacity: 1 << 17)
  private var hasPoints = false

  /// - Parameters:
  ///   - name: the track's name
  ///   - version: the version of this program, the file's creator
  public init(_ output: Output, name: String, version: String) {
    self.output = output
    self.name = name
    self.version = version
  }

  public mutating func add(_ point: TrackPoint, beginsSegment: Bool) throws(Output.Failure) {
    let time = UTCText.make(point.time)
    if !hasPoints {
      writeHead()
      text.text("<metadata><time>\(time)</time></metadata>\n<trk><name>\(XMLText.escaped(name))</name>\n")
    } else if beginsSegment {
      text.fragment("</trkseg>\n")
    }
    if beginsSegment || !hasPoints { text.fragment("<trkseg>\n") }
    hasPoints = true
    text.fragment("<trkpt lat=\"")
    text.fragment(point.latitudeDegrees, decimals: 9)
    text.fragment("\" lon=\"")
    // The schema excludes 180 degrees east; -180 is the same place. Values that would round to 180 are written as
    // -180 too.
    text.fragment(point.longitudeDegrees > 179.999_999_999 ? -180 : point.longitudeDegrees, decimals: 9)
    text.fragment("\">")
    if let altitude = point.altitudeMSLMetres {
      text.fragment("<ele>")
      text.fragment(altitude, decimals: 3)
      text.fragment("</ele>")
    }
    text.text("<time>\(time)</time>")
    // The schema prescribes this order.
    if let fix = Self.fix(of: point) { text.text("<fix>\(fix)</fix>") }
    if let satellites = point.satellitesUsed, satellites >= 0 { text.text("<sat>\(satellites)</sat>") }
    if let hdop = point.hdop {
      text.fragment("<hdop>")
      text.fragment(hdop, decimals: 2)
      text.fragment("</hdop>")
    }
    if point.isReckoned { writeExtensions(of: point) }
    text.fragment("</trkpt>\n")
    if text.count > 1 << 16 { try flush() }
  }

  public mutating func finish() throws(Output.Failure) {
    // Without a point there is no track element to close.
    if hasPoints {
      text.fragment("</trkseg>\n</trk>\n")
    } else {
      writeHead()
    }
    text.fragment("</gpx>\n")
    try flush()
  }

  private mutating func writeHead() {
    text.text(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <gpx version="1.1" creator="SensorHub \(version)" xmlns="http://www.topografix.com/GPX/1/1" \
      xmlns:sensorhub="urn:sensorhub:gpx:1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
      xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">

      """)
  }

  private mutating func writeExtensions(of point: TrackPoint) {
    text.fragment("<extensions><sensorhub:mode>deadReckoning</sensorhub:mode>")
    if let sigma = point.horizontalSigmaMetres {
      text.fragment("<sensorhub:sigma>")
      text.fragment(sigma, decimals: 3)
      text.fragment("</sensorhub:sigma>")
    }
    text.fragment("</extensions>")
  }

  /// The fix in GPX's terms. GPX's `pps` is the military signal, not a pulse per second.
  private static func fix(of point: TrackPoint) -> String? {
    if point.isReckoned { return "none" }
    guard let mode = point.fixMode, mode >= 2 else { return nil }
    switch point.fixStatus {
    case 2, 3, 4, 9: return "dgps"
    default: return mode == 2 ? "2d" : "3d"
    }
  }

  /// Writes the collected text to the output now.
  public mutating func flush() throws(Output.Failure) {
    try output.write(UnsafeRawBufferPointer(text.bytes))
    text.removeAll()
  }
}
