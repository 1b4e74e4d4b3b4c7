import Glibc
import HardwareIO

/// The files that describe a machine, as plain files and links in a folder.
public final class MachineTree {
  private let folder = TemporaryFolder("machine")
  public var root: String { folder.path }

  public init() {}

  public var files: MachineFiles { MachineFiles(root: root) }

  /// Writes a file.
  public func add(_ path: String, _ text: String = "") { add(path, Array(text.utf8)) }

  public func add(_ path: String, _ bytes: [UInt8]) {
    makeFolder(of: path)
    HubProcess.write(bytes, to: root + path)
  }

  public func link(_ path: String, to target: String) {
    makeFolder(of: path)
    symlink(target, root + path)
  }

  private func makeFolder(of path: String) {
    var folder = root
    for part in path.split(separator: "/").dropLast() {
      folder += "/\(part)"
      mkdir(folder, 0o755)
    }
  }
}
