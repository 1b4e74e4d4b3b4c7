import Glibc
import MCAP
import TestSupport

/// A folder that goes with this.
final class TemporaryFolder {
  let path: String

  init() throws(MCAPError) {
    var template = Array("/tmp/sensorhub-mcap-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw .system("making a folder", errno: errno) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { _ = Program(["-r", path], path: "/bin/rm").wait() }

  /// Writes a file, and returns its path.
  func write(_ bytes: [UInt8], _ name: String) throws(MCAPError) -> String {
    var sink = try MCAPFileSink(path: "\(path)/\(name)")
    try bytes.withUnsafeBufferPointer { (buffer) throws(MCAPError) in
      try sink.append(UnsafeRawBufferPointer(buffer))
    }
    return sink.path
  }
}
