import Devices
import FoundationEssentials
import Hub
import MCAP
import MonotonicTime
import Recording

/// What recordings have of the devices, as it is replayed. A class: what it reads with would be costly to copy.
final class RecordingReplay {
  private var messages: RecordedMessages
  /// Of the file that is being read.
  private var fileCount = 0
  private var clock = RecordingClock(started: nil, offsetNanoseconds: nil)
  private var beginsRecording = false
  private(set) var badMessageCount = 0

  /// Which clock a recording's times are by.
  private struct RecordingClock: Equatable {
    /// When the hub began to record.
    var started: String?
    /// By how much log times are ahead of the monotonic clock.
    var offsetNanoseconds: Int64?
  }

  /// - Parameter topics: of all that is recorded
  init(_ messages: RecordedMessages, topics: Set<String>) {
    self.messages = messages
    devices = Set(
      topics.filter { $0 != "/power" && RecordingReplay.isWanted($0) }.compactMap { topic in
        topic.split(separator: "/").dropFirst().first.map(String.init)
      })
  }

  static func isWanted(_ topic: String) -> Bool {
    topic == "/power"
      || ["/receiver/", "/imu/", "/magnetometer/", "/barometer/", "/supply/"].contains(where: topic.hasPrefix)
  }

  /// The IDs of the devices of which there is something.
  let devices: Set<String>

  /// By how much the present file's clock was slow.
  var correctionNanoseconds: Int64 { messages.correctionNanoseconds }
  var badChunkCount: Int { messages.badChunkCount }
  /// Of the file that the last message came from.
  var reader: MCAPReader<MCAPFileSource>? { messages.reader }

  func next() throws(RecordingError) -> ReplayedMessage? {
    while let message = try messages.next() {
      noteFile(message)
      let topic = messages.topic(of: message)
      guard let (device, content) = RecordedContent.read(message, topic: topic) else {
        badMessageCount += 1
        continue
      }
      let offset = clock.offsetNanoseconds ?? 0
      let logTime = Int64(clamping: message.logTimeNanoseconds)
      defer { beginsRecording = false }
      let at = MonotonicInstant(nanoseconds: logTime &- offset)
      return ReplayedMessage(
        at: at, systemNanosecondsSince1970: logTime,
        clockCorrectionNanoseconds: messages.correctionNanoseconds, device: device, content: content.read(at: at),
        beginsRecording: beginsRecording)
    }
    return nil
  }

  private func noteFile(_ message: MCAPMessage) {
    guard messages.fileCount != fileCount, let reader = messages.reader else { return }
    let isFirst = fileCount == 0
    fileCount = messages.fileCount
    let facts = RecordedMessages.facts(named: "sensorhub", of: reader)
    var new = RecordingClock(
      started: facts["started"], offsetNanoseconds: facts["logTimeOffsetNanoseconds"].flatMap { Int64($0) })
    // A recording of a hub that did not say: its first message was there when it was stamped, nearly.
    if new.offsetNanoseconds == nil {
      new.offsetNanoseconds =
        new.started != nil && new.started == clock.started
        ? clock.offsetNanoseconds
        : Int64(clamping: message.logTimeNanoseconds) &- Int64(clamping: message.publishTimeNanoseconds)
    }
    beginsRecording = !isFirst && new != clock
    clock = new
  }
}

extension ReplayedMessage.Content {
  /// The same, with what the message itself says: when it was read.
  fileprivate func read(at instant: MonotonicInstant) -> Self {
    switch self {
    case .sentences(var sentences):
      sentences.readAt = instant
      return .sentences(sentences)
    case .batch(var batch):
      batch.readAt = instant
      return .batch(batch)
    case .magneticField, .air, .supply, .power: return self
    }
  }
}

/// Reads what a message says of a device.
private enum RecordedContent {
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

  /// The device's ID and what it said; `nil` for what cannot be read.
  static func read(_ message: MCAPMessage, topic: String) -> (String, ReplayedMessage.Content)? {
    // Of the sample, or of the first byte.
    let at = MonotonicInstant(nanoseconds: Int64(clamping: message.publishTimeNanoseconds))
    let parts = topic.split(separator: "/")
    switch (parts.first, parts.count) {
    case ("power", 1): return power(message.data)
    case ("receiver", 3) where parts[2] == "raw":
      return (
        String(parts[1]), .sentences(ReceivedSentences(bytes: Array(message.data), beganAt: at, readAt: at))
      )
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
    // Who leaves one that has failed is not told of.
    return (message.id, .power(kind, isSupplied: isWorking, isHeld: isWorking && !message.holders.isEmpty))
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, _ data: ArraySlice<UInt8>) -> Value? {
    try? JSONDecoder().decode(type, from: Data(data))
  }
}
