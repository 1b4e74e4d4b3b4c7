import MCAP

/// A place and its time, in nanoseconds since 1970.
struct Place {
  var latitudeDegrees: Double
  var longitudeDegrees: Double
  var nanoseconds: UInt64
}

/// The fields of Foxglove's LocationFix that this example writes, as JSON Schema.
private let schema = """
  {"title": "foxglove.LocationFix", "type": "object", "properties": {
  "timestamp": {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}},
  "latitude": {"type": "number"}, "longitude": {"type": "number"}}}
  """

/// Writes a track that Foxglove shows on its map. It is compressed if this machine has libzstd.
func write(_ track: [Place], to path: String) throws(MCAPError) {
  let zstd = MCAPCompression.zstd(level: 3)
  var writer = try MCAPWriter(MCAPFileSink(path: path), compression: zstd.isAvailable ? zstd : .none)
  let locationFix = try writer.addSchema(
    name: "foxglove.LocationFix", encoding: "jsonschema", data: Array(schema.utf8))
  let channel = try writer.addChannel(topic: "/position", messageEncoding: "json", schemaID: locationFix)
  for place in track {
    let (seconds, rest) = place.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let time = "{\"sec\": \(seconds), \"nsec\": \(rest)}"
    let json =
      "{\"timestamp\": \(time), \"latitude\": \(place.latitudeDegrees), \"longitude\": \(place.longitudeDegrees)}"
    try writer.append(Array(json.utf8), channelID: channel, logTimeNanoseconds: place.nanoseconds)
  }
  try writer.add(MCAPMetadata(name: "track", entries: ["program": "example"]))
  try writer.finish()
}
