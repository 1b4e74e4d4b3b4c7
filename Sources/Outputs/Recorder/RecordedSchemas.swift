import Recording

/// The schemas of a recording's messages.
extension RecordedChannel.Schema {
  static let imuBatch = RecordedChannel.Schema(
    name: "sensorhub.IMUBatch", encoding: "text/plain",
    text: """
      One FIFO burst of an inertial sensor, in the chip's own axes, before calibration and mount. Little-endian, without gaps:
      UInt32 count; UInt8 followsGap (1: samples were lost before this batch); 3 zero bytes;
      Float32 temperature of the die in degrees Celsius, NaN for none; then count times:
      Int64 CLOCK_MONOTONIC in nanoseconds; 3 Float32 gyroscope x, y, z in rad/s; 3 Float32 accelerometer x, y, z in m/s2.

      """)

  static let epoch = RecordedChannel.Schema(
    name: "sensorhub.Epoch", encoding: "text/plain",
    text: """
      One epoch of a receiver as it was fused. Little-endian, without gaps:
      UInt32 presence: a bit for each value marked (?), from the lowest bit on; if it is 0 the value is unknown;
      Int64 CLOCK_MONOTONIC of the epoch's first byte in nanoseconds;
      UInt8 mode (1 no fix, 2 two dimensions, 3 three), UInt8 status (as in gpsd's protocol), UInt8 time confirmed;
      UInt8 jamming (0 unknown, 1 none, 2 warning, 3 critical), UInt8 spoofing (0 unknown, 1 none, 2 indicated, 3 multiple);
      UInt8? the receiver's own fusion (0 initializing, 1 fusing, 2 suspended, 3 disabled);
      Int32? satellites used; Int32? jamming indicator; Int64? UTC in nanoseconds since 1970;
      Float64? HDOP, sigma of the time in s, age of the corrections in s;
      Float64? latitude, longitude in degrees, height above the ellipsoid and above mean sea level, horizontal and vertical sigma in m;
      Float64? speed in m/s, track in degrees, climb, horizontal and vertical sigma of the velocity in m/s.

      """)

  static let magnetometer = numbers(
    "sensorhub.Magnetometer", "Magnetic flux density, chip's axes, microtesla; monotonic in seconds.",
    ["x", "y", "z", "monotonic"])
  static let barometer = numbers(
    "sensorhub.Barometer", "Pressure in Pa, temperature in degrees Celsius, humidity in percent.",
    ["pressure", "temperature", "humidity", "monotonic"])
  static let supply = numbers(
    "sensorhub.Supply", "Volts, amperes to the load, and the volts across the shunt; monotonic in seconds.",
    ["volts", "amperes", "shuntVolts", "monotonic"])

  static let state = RecordedChannel.Schema(
    name: "sensorhub.State", encoding: "jsonschema",
    text: #"{"title":"sensorhub.State","type":"object","description":"The fused state as its socket sends it.","#
      + #""properties":{"class":{"type":"string"},"mode":{"type":"string"},"time":{"type":"string"},"#
      + #""timeConfirmed":{"type":"boolean"},"monotonic":{"type":"number"},"deadReckoningSeconds":{"type":"number"},"#
      + [
        "position", "velocity", "attitude", "rates", "acceleration", "magneticField", "air", "supply", "fix", "refusal",
      ]
      .map { #""\#($0)":{"type":"object"}"# }.joined(separator: ",") + "}}")

  static let locationFix = RecordedChannel.Schema(
    name: "foxglove.LocationFix", encoding: "jsonschema",
    text: #"{"title":"foxglove.LocationFix","type":"object","properties":{\#(timestamp),"frame_id":{"type":"string"},"#
      + #""latitude":{"type":"number"},"longitude":{"type":"number"},"altitude":{"type":"number"},"#
      + #""position_covariance":{"type":"array","items":{"type":"number"},"minItems":9,"maxItems":9},"#
      + #""position_covariance_type":{"title":"foxglove.PositionCovarianceType","#
      + #""description":"0 unknown, 1 approximated, 2 diagonal known, 3 known","type":"integer"}}}"#)

  static let power = RecordedChannel.Schema(
    name: "sensorhub.Power", encoding: "jsonschema",
    text: #"{"title":"sensorhub.Power","type":"object","properties":{"id":{"type":"string"},"kind":{"type":"string"},"#
      + #""power":{"type":"string"},"reason":{"type":"string"},"#
      + #""holders":{"type":"array","items":{"type":"string"}},"wakes":{"type":"integer"},"#
      + ["onSeconds", "energyMilliwattHours", "measuredMilliwattHours"].map { #""\#($0)":{"type":"number"}"# }
      .joined(separator: ",") + "}}")

  static let fusion = RecordedChannel.Schema(
    name: "sensorhub.Fusion", encoding: "jsonschema",
    text:
      #"{"title":"sensorhub.Fusion","type":"object","description":"Whether the hub fuses states for a client. Each run begins "#
      + #"with the last known position and UTC; positionNanoseconds and utcAtNanoseconds are their times by "#
      + #"CLOCK_MONOTONIC. expiry instead of underWay: a device has failed, and the position and the attitude are now too "#
      + #"old. monotonic in seconds.","properties":{"underWay":{"type":"boolean"},"expiry":{"type":"boolean"},"#
      + #""positionSource":{"type":"string"},"#
      + [
        "lat", "lon", "altHAE", "altMSL", "sigmaH", "sigmaV", "positionNanoseconds", "utcNanoseconds",
        "utcAtNanoseconds", "monotonic",
      ].map { #""\#($0)":{"type":"number"}"# }.joined(separator: ",") + "}}")

  static let clock = numbers(
    "sensorhub.Clock", "The system's clock minus log time, from this message on; monotonic in seconds.",
    ["aheadNanoseconds", "monotonic"])

  static let log = RecordedChannel.Schema(
    name: "foxglove.Log", encoding: "jsonschema",
    text: #"{"title":"foxglove.Log","type":"object","properties":{\#(timestamp),"#
      + #""level":{"title":"foxglove.LogLevel","description":"1 debug, 2 info, 3 warning, 4 error","type":"integer"},"#
      + #""message":{"type":"string"},"name":{"type":"string"}}}"#)

  private static let timestamp =
    #""timestamp":{"type":"object","title":"time","properties":{"sec":{"type":"integer","minimum":0},"#
    + #""nsec":{"type":"integer","minimum":0,"maximum":999999999}}}"#

  private static func numbers(_ name: String, _ description: String, _ members: [String]) -> RecordedChannel.Schema {
    RecordedChannel.Schema(
      name: name, encoding: "jsonschema",
      text: #"{"title":"\#(name)","type":"object","description":"\#(description)","properties":{"#
        + members.map { #""\#($0)":{"type":"number"}"# }.joined(separator: ",") + "}}")
  }
}
