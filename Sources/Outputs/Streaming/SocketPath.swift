import Glibc
import HardwareIO

/// The paths of the hub's sockets.
///
/// There are three sockets in one folder. Connecting to `hub.sock` subscribes to the fused state, which powers the
/// devices. Connecting to `devices.sock` returns the known status, and wakes no device. A request on `record.sock`
/// returns a recording.
public struct SocketPath: Equatable, Sendable {
  /// The path of the socket that streams the fused state.
  public var state: String

  public init(_ state: String) { self.state = state }

  /// The path of the socket that sends the status of the devices.
  public var devices: String { directory + "devices.sock" }

  /// The path of the socket that streams a recording.
  public var record: String { directory + "record.sock" }

  private var directory: String { state.lastIndex(of: "/").map { String(state[...$0]) } ?? "" }

  public var folder: String {
    guard let slash = state.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == state.startIndex ? "/" : String(state[..<slash])
  }

  /// The file name of a socket, given its path.
  static func name(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }

  /// The mode of a new folder: a user's own folder is private; for any other folder the umask decides.
  private var mode: UInt32 {
    let runtime = SocketPath.environment("XDG_RUNTIME_DIR").map { "\($0)/sensorhub" }
    return folder == runtime || folder == SocketPath.ownTemporary ? 0o700 : 0o755
  }

  /// Opens the folder for a hub, and makes it if it is missing. The folder must belong to this user or root, and no
  /// other user may write to it.
  func openOwnFolder() throws(SocketError) -> Folder {
    do throws(FolderError) {
      return try Folder(folder, of: .own, makingWith: mode)
    } catch {
      throw SocketError(error)
    }
  }

  /// Opens the folder for a client. The folder must belong to this user, root or the service, and no other user may
  /// write to it.
  public func openTrustedFolder() throws(SocketError) -> Folder {
    do throws(FolderError) {
      return try Folder(folder, of: .trusted)
    } catch {
      throw error.isMissing ? .notRunning(path: state) : SocketError(error)
    }
  }

  /// The paths for this process: in the directory that systemd names in `RUNTIME_DIRECTORY`, in `/run/sensorhub` for
  /// root, otherwise below the user's `XDG_RUNTIME_DIR`, or else in `/tmp`.
  public static var standard: SocketPath {
    if let directory = environment("RUNTIME_DIRECTORY") { return SocketPath("\(directory)/hub.sock") }
    if getuid() == 0 { return SocketPath("/run/sensorhub/hub.sock") }
    if let directory = environment("XDG_RUNTIME_DIR") { return SocketPath("\(directory)/sensorhub/hub.sock") }
    return SocketPath("\(ownTemporary)/hub.sock")
  }

  /// The folder for a user without a runtime directory. Another user may have made it first, so its owner is always
  /// checked.
  private static var ownTemporary: String { "/tmp/sensorhub-\(getuid())" }

  /// The paths that a client tries, in this order: those of the user's own hub, then those of the system's hub.
  public static var candidates: [SocketPath] {
    [standard, SocketPath("/run/sensorhub/hub.sock")]
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
