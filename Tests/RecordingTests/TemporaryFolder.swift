import Glibc
import HardwareIO
import MCAP
import TestSupport

@testable import Recording

/// A folder that goes with this. The recording's own, in it, is made by the recorder.
final class TemporaryFolder {
  private let root: String
  let path: String

  init() {
    var template = Array("/tmp/sensorhub-recording-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil)
    root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    path = root + "/recordings"
  }

  deinit { remove(root) }

  func remove(_ path: String) { _ = Program(["-r", path], path: "/bin/rm").wait() }

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
