import Outputs
import Recording
import SystemPackage

/// A track as KML 2.2 with Google's extensions. Each segment is a `gx:Track`, which Google Earth plays and GDAL reads
/// as a line.
///
/// In a `gx:Track` all times come first, then all positions, then the other values, so a segment is kept in memory
/// until it ends.
struct KMLWriter: TrackWriter, ~Copyable {
  private let output: ExportOutput
  private let name: String
  private var text = JSONWriter(capacity: 1 << 17)
  private var times = JSONWriter()
  private var places = JSONWriter()
  private var modes = JSONWriter()
  private var sigmas = JSONWriter()
  private var hasHeights = true
  private var segmentCount = 0
  private var count = 0
  private var firstTime = ""

  init(_ output: ExportOutput, name: String) {
    self.output = output
    self.name = name
    text.text(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">
      <Document><name>\(XMLText.escaped(name))</name>
      <Style id="track"><LineStyle><color>ffb27200</color><width>3</width></LineStyle></Style>
      <Schema id="state"><gx:SimpleArrayField name="mode" type="string"><displayName>mode</displayName>\
      </gx:SimpleArrayField><gx:SimpleArrayField name="sigma" type="float"><displayName>sigma, metres</displayName>\
      </gx:SimpleArrayField></Schema>

      """)
  }

  mutating func add(_ point: TrackPoint, beginsSegment: Bool) throws(Errno) {
    if beginsSegment { try endSegment() }
    let time = UTCText.make(point.time)
    if count == 0 { firstTime = time }
    count += 1
    times.text("<when>\(time)</when>\n")
    places.fragment("<gx:coord>")
    places.fragment(point.longitudeDegrees, decimals: 9)
    places.fragment(" ")
    places.fragment(point.latitudeDegrees, decimals: 9)
    places.fragment(" ")
    places.fragment(point.altitudeMSLMetres ?? 0, decimals: 3)
    places.fragment("</gx:coord>\n")
    if point.altitudeMSLMetres == nil { hasHeights = false }
    modes.fragment(point.isReckoned ? "<gx:value>deadReckoning</gx:value>\n" : "<gx:value>satellites</gx:value>\n")
    sigmas.fragment("<gx:value>")
    if let sigma = point.horizontalSigmaMetres { sigmas.fragment(sigma, decimals: 3) }
    sigmas.fragment("</gx:value>\n")
  }

  mutating func finish() throws(Errno) {
    try endSegment()
    text.fragment("</Document>\n</kml>\n")
    try flush()
  }

  private mutating func endSegment() throws(Errno) {
    guard count > 0 else { return }
    segmentCount += 1
    text.text("<Placemark><name>\(segmentCount): \(firstTime)</name><styleUrl>#track</styleUrl>\n<gx:Track>\n")
    // Heights are above mean sea level. If they are unknown, the track is drawn on the ground, not at height zero.
    text.text("<altitudeMode>\(hasHeights ? "absolute" : "clampToGround")</altitudeMode>\n")
    try flush()
    try output.write(UnsafeRawBufferPointer(times.bytes))
    try output.write(UnsafeRawBufferPointer(places.bytes))
    text.fragment("<ExtendedData><SchemaData schemaUrl=\"#state\">\n<gx:SimpleArrayData name=\"mode\">\n")
    try flush()
    try output.write(UnsafeRawBufferPointer(modes.bytes))
    text.fragment("</gx:SimpleArrayData>\n<gx:SimpleArrayData name=\"sigma\">\n")
    try flush()
    try output.write(UnsafeRawBufferPointer(sigmas.bytes))
    text.fragment("</gx:SimpleArrayData>\n</SchemaData></ExtendedData>\n</gx:Track>\n</Placemark>\n")
    times.removeAll()
    places.removeAll()
    modes.removeAll()
    sigmas.removeAll()
    hasHeights = true
    count = 0
  }

  private mutating func flush() throws(Errno) {
    try output.write(UnsafeRawBufferPointer(text.bytes))
    text.removeAll()
  }
}
