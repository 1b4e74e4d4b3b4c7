import Glibc
import HardwareIO
import MCAP
import TestSupport

@testable import Recording

/// A recording's folder, made by the recorder and removed with this value.
final class RecordingFolder {
  private let temporary = TemporaryFolder("recording")
  var path: String { temporary.path + "/recordings" }

  var store: SegmentFolder { SegmentFolder(path: path) }
  var names: [String] { Files.names(in: path) }
  var byteCount: UInt64 { store.segments.reduce(0) { $0 + $1.byteCount } }

  /// The texts of all messages of a topic, segment by segment.
  func texts(_ topic: String) throws(MCAPError) -> [String] {
    var texts: [String] = []
    for name in names {
      let reader = try MCAPReader(path: "\(path)/\(name)")
      let ids = reader.summary.channelIDs(ofTopics: [topic])
      var messages = reader.messages(channelIDs: ids, order: .logTime)
      while let message = try messages.next() { texts.append(String(decoding: message.data, as: UTF8.self)) }
    }
    return texts
  }
}
