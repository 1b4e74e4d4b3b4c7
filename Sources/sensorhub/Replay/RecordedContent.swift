import Devices
import FoundationEssentials
import Fusion
import Hub
import MCAP
import MonotonicTime
import Recording

/// Decodes the messages of a hub's recording for a replay.
enum RecordedContent {
  private struct MagneticField: Decodable {
    var x: Float
    var y: Float
    var z: Float
  }

  private struct Air: Decodable {
    var pressure: Double
    var temperature: Double
    var humidity: Double?
  }

  private struct Supply: Decodable {
    var volts: Double
    var shuntVolts: Double?
  }

  private struct Power: Decodable {
    var id: String
    var kind: String
    var power: String
    var holders: [String]
  }

  /// The beginning or end of a run, or an expiry.
  private struct Run: Decodable {
    var underWay: Bool?
    var expiry: Bool?
    var lat: Double?
    var lon: Double?
    var altHAE: Double?
    var altMSL: Double?
    var sigmaH: Double?
    var sigmaV: Double?
    var positionNanoseconds: Int64?
    var positionSource: String?
    var utcNanoseconds: Int64?
    var utcAtNanoseconds: Int64?

    /// The content; `nil` if the object says something that only a later version understands.
    var content: ReplayedMessage.Content? {
      if expiry == true { return .expiry }
      guard let underWay else { return nil }
      guard underWay else { return .end }
      var knowledge = FusionKnowledge()
      if let lat, let lon, let positionNanoseconds {
        let position = FusedState.Position(
          latitudeDegrees: lat, longitudeDegrees: lon, altitudeHAEMetres: altHAE, altitudeMSLMetres: altMSL,
          horizontalSigmaMetres: sigmaH, verticalSigmaMetres: sigmaV)
        // Only the board knows the numbers of the devices; `positionSource` has their IDs.
        knowledge.position = Dated(position, at: MonotonicInstant(nanoseconds: positionNanoseconds), source: [])
      }
      if let utcNanoseconds, let utcAtNanoseconds {
        knowledge.time = FusionKnowledge.StatedTime(
          utcNanoseconds: utcNanoseconds, at: MonotonicInstant(nanoseconds: utcAtNanoseconds))
      }
      return .begin(knowledge, positionSource: positionSource ?? "")
    }
  }

  private struct Clock: Decodable {
    var aheadNanoseconds: Int64
  }

  /// Reads a message.
  ///
  /// - Returns: the device's ID, empty for the fusion and the clock, and the content; `nil` if the message cannot be
  ///   read
  static func read(_ message: MCAPMessage, topic: String) -> (String, ReplayedMessage.Content)? {
    // The publish time is the time of the sample, or of the first byte.
    let at = MonotonicInstant(nanoseconds: Int64(clamping: message.publishTimeNanoseconds))
    let parts = topic.split(separator: "/")
    switch (parts.first, parts.count) {
    case ("power", 1): return power(message.data)
    case ("fusion", 1):
      return decode(Run.self, message.data).flatMap { run in run.content.map { ("", $0) } }
    case ("clock", 1):
      return decode(Clock.self, message.data).map { ("", .clock(aheadNanoseconds: $0.aheadNanoseconds)) }
    case ("receiver", 3) where parts[2] == "raw":
      return (
        String(parts[1]),
        .sentences(
          ReceivedBytes(
            bytes: Array(message.data), isBinary: message.data.first.map { $0 >= 0x80 } ?? false, beganAt: at,
            readAt: at))
      )
    case ("receiver", 3) where parts[2] == "epoch":
      return RecordedEpoch.read(message.data).map { (String(parts[1]), .epoch($0)) }
    case ("imu", 3): return RecordedBatch.read(message.data).map { (String(parts[1]), .batch($0)) }
    case ("magnetometer", 2):
      return decode(MagneticField.self, message.data).map { field in
        (String(parts[1]), .magneticField(MagnetometerSample(at: at, field: SIMD3(field.x, field.y, field.z))))
      }
    case ("barometer", 2):
      return decode(Air.self, message.data).map { air in
        (
          String(parts[1]),
          .air(
            BarometerSample(
              at: at, pressurePascals: air.pressure, temperatureCelsius: air.temperature,
              humidityPercent: air.humidity))
        )
      }
    case ("supply", 2):
      return decode(Supply.self, message.data).map { supply in
        (
          String(parts[1]), .supply(SupplySample(at: at, volts: supply.volts, shuntVolts: supply.shuntVolts ?? 0))
        )
      }
    default: return nil
    }
  }

  private static func power(_ data: ArraySlice<UInt8>) -> (String, ReplayedMessage.Content)? {
    guard let message = decode(Power.self, data), let kind = DeviceStatus.Kind(rawValue: message.kind),
      let power = DeviceStatus.Power(rawValue: message.power)
    else { return nil }
    let isWorking = !power.isRest && power != .failed
    // A failed device does not report that a holder has left, so it counts as not held.
    return (message.id, .power(kind, isSupplied: isWorking, isHeld: isWorking && !message.holders.isEmpty))
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, _ data: ArraySlice<UInt8>) -> Value? {
    try? JSONDecoder().decode(type, from: Data(data))
  }
}
