import Glibc
import HardwareIO

/// A folder below /tmp, which is removed with its contents when this value is released.
public final class TemporaryFolder: Sendable {
  public let path: String

  /// - Parameter name: identifies the owner of a folder that was left over
  public init(_ name: String) {
    var template = Array("/tmp/sensorhub-\(name)-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "cannot create a folder: \(String(cString: strerror(errno)))")
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { TemporaryFolder.remove(path) }

  /// Removes a file, or a folder with all its contents. Links are removed, and their targets are not.
  public static func remove(_ path: String) {
    if unlink(path) == 0 { return }
    for name in Files.names(in: path) { remove("\(path)/\(name)") }
    rmdir(path)
  }
}
