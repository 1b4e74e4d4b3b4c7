import MCAP
import TestSupport

extension TemporaryFolder {
  /// Writes a file and returns its path.
  func write(_ bytes: [UInt8], _ name: String) throws(MCAPError) -> String {
    var sink = try MCAPFileSink(path: "\(path)/\(name)")
    try bytes.withUnsafeBufferPointer { (buffer) throws(MCAPError) in
      try sink.append(UnsafeRawBufferPointer(buffer))
    }
    return sink.path
  }
}
