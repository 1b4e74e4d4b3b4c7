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
      topics.filter { !RecordingReplay.common.contains($0) && RecordingReplay.isWanted($0) }.compactMap { topic in
        topic.split(separator: "/").dropFirst().first.map(String.init)
      })
  }

  /// Topics that are not of one device.
  private static let common: Set<String> = ["/power", "/fusion"]

  static func isWanted(_ topic: String) -> Bool {
    common.contains(topic)
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
    case .magneticField, .air, .supply, .power, .fusion: return self
    }
  }
}
