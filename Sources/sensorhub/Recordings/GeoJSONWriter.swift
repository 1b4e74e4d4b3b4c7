import Outputs
import Recording
import SystemPackage

/// A track as GeoJSON (RFC 7946): one feature with a line for each segment. Lines are cut at the antimeridian (section
/// 3.1.9). Heights are above the ellipsoid, as the RFC requires. A segment with only one point is left out, because it
/// is not a line.
///
/// The times and the sigmas are in lists parallel to the coordinates. They come after all coordinates in the file, so
/// they are kept in memory until the end.
struct GeoJSONWriter: TrackWriter, ~Copyable {
  private let output: ExportOutput
  private let name: String
  private var text = JSONWriter(capacity: 1 << 17)
  /// The coordinates of the present segment. They are written once a second point makes the segment a line.
  private var coordinates = JSONWriter()
  private var lineTimes = JSONWriter()
  private var lineSigmas = JSONWriter()
  private var lineCount = 0
  private var times = JSONWriter()
  private var sigmas = JSONWriter()
  private var hasLines = false
  /// The previous point.
  private var last: TrackPoint?

  init(_ output: ExportOutput, name: String) {
    self.output = output
    self.name = name
    text.fragment(#"{"type":"Feature","geometry":{"type":"MultiLineString","coordinates":["#)
  }

  mutating func add(_ point: TrackPoint, beginsSegment: Bool) throws(Errno) {
    if beginsSegment {
      try endLine()
    } else if let last, let crossing = AntimeridianCrossing(from: last, to: point) {
      append(crossing.end)
      try endLine()
      append(crossing.start)
    }
    append(point)
    last = point
  }

  private mutating func append(_ point: TrackPoint) {
    if lineCount > 0 {
      coordinates.fragment(",\n")
      lineTimes.fragment(",")
      lineSigmas.fragment(",")
    }
    lineCount += 1
    coordinates.fragment("[")
    coordinates.fragment(point.longitudeDegrees, decimals: 9)
    coordinates.fragment(",")
    coordinates.fragment(point.latitudeDegrees, decimals: 9)
    if let altitude = point.altitudeHAEMetres {
      coordinates.fragment(",")
      coordinates.fragment(altitude, decimals: 3)
    }
    coordinates.fragment("]")
    lineTimes.text("\"\(UTCText.make(point.time))\"")
    if let sigma = point.horizontalSigmaMetres {
      lineSigmas.fragment(sigma, decimals: 3)
    } else {
      lineSigmas.fragment("null")
    }
  }

  mutating func finish() throws(Errno) {
    try endLine()
    text.fragment(#"]},"properties":{"name":"#)
    text.string(name)
    text.fragment(#","times":["#)
    try flush()
    try output.write(UnsafeRawBufferPointer(times.bytes))
    text.fragment(#"],"sigmas":["#)
    try flush()
    try output.write(UnsafeRawBufferPointer(sigmas.bytes))
    text.fragment("]}}\n")
    try flush()
  }

  private mutating func endLine() throws(Errno) {
    defer {
      coordinates.removeAll()
      lineTimes.removeAll()
      lineSigmas.removeAll()
      lineCount = 0
    }
    guard lineCount > 1 else { return }
    if hasLines {
      text.fragment(",\n")
      times.fragment(",")
      sigmas.fragment(",")
    }
    hasLines = true
    text.fragment("[")
    try flush()
    try output.write(UnsafeRawBufferPointer(coordinates.bytes))
    text.fragment("]")
    times.text("[\(String(decoding: lineTimes.bytes, as: UTF8.self))]")
    sigmas.text("[\(String(decoding: lineSigmas.bytes, as: UTF8.self))]")
  }

  private mutating func flush() throws(Errno) {
    try output.write(UnsafeRawBufferPointer(text.bytes))
    text.removeAll()
  }
}
