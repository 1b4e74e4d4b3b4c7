import Glibc
import HardwareIO

/// The places of the hub's sockets.
///
/// There are three, distinguished by their names alone: connecting to `hub.sock` subscribes to the fused state and so
/// powers the devices; connecting to `devices.sock` next to it returns the known status and wakes nothing; a request on
/// `record.sock` returns a recording.
public struct SocketPath: Equatable, Sendable {
  /// Streams the fused state.
  public var state: String

  public init(_ state: String) { self.state = state }

  /// Tells the status of the devices.
  public var devices: String { directory + "devices.sock" }

  /// Streams a recording.
  public var record: String { directory + "record.sock" }

  private var directory: String { state.lastIndex(of: "/").map { String(state[...$0]) } ?? "" }

  /// The folder that they are in.
  public var folder: String {
    guard let slash = state.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == state.startIndex ? "/" : String(state[..<slash])
  }

  /// The file in the folder under one of the paths.
  static func name(of path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }

  /// The mode of a folder that a hub makes: a user's own is private, and for others the umask decides.
  private var mode: UInt32 {
    let runtime = SocketPath.environment("XDG_RUNTIME_DIR").map { "\($0)/sensorhub" }
    return folder == runtime || folder == SocketPath.ownTemporary ? 0o700 : 0o755
  }

  /// Opens the folder for a hub: it is made if it is missing, and must belong to this user or root, and be writable by
  /// no others.
  func openOwnFolder() throws(SocketError) -> Folder {
    do throws(FolderError) {
      return try Folder(folder, of: .own, makingWith: mode)
    } catch {
      throw SocketError(error)
    }
  }

  /// Opens the folder for a client: it must belong to this user, root or the service, and be writable by no others.
  public func openTrustedFolder() throws(SocketError) -> Folder {
    do throws(FolderError) {
      return try Folder(folder, of: .trusted)
    } catch {
      throw error.isMissing ? .notRunning(path: state) : SocketError(error)
    }
  }

  /// `/run/sensorhub/hub.sock` for the system's hub, otherwise in the user's own runtime directory.
  public static var standard: SocketPath {
    if let directory = environment("RUNTIME_DIRECTORY") { return SocketPath("\(directory)/hub.sock") }
    if getuid() == 0 { return SocketPath("/run/sensorhub/hub.sock") }
    if let directory = environment("XDG_RUNTIME_DIR") { return SocketPath("\(directory)/sensorhub/hub.sock") }
    return SocketPath("\(ownTemporary)/hub.sock")
  }

  /// Where a user's hub is who has no runtime folder: others can make one of this name first, so whose it is is always checked.
  private static var ownTemporary: String { "/tmp/sensorhub-\(getuid())" }

  /// Where a client looks: the user's own hub first, then the system's.
  public static var candidates: [SocketPath] {
    [standard, SocketPath("/run/sensorhub/hub.sock")]
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
