import Glibc

/// Where the hub's sockets are.
///
/// Three of them, told apart by their names alone: connecting to `hub.sock` subscribes to the fused state and so powers the
/// devices; connecting to `devices.sock` beside it tells what is known and wakes nothing; who connects to `record.sock` and
/// asks for it gets a recording.
public struct SocketPath: Equatable, Sendable {
  /// Streams the fused state.
  public var state: String

  public init(_ state: String) { self.state = state }

  /// Tells the status of the devices.
  public var devices: String { directory + "devices.sock" }

  /// Streams a recording.
  public var record: String { directory + "record.sock" }

  private var directory: String { state.lastIndex(of: "/").map { String(state[...$0]) } ?? "" }

  /// `/run/sensorhub/hub.sock` for the system's hub, otherwise in the user's own runtime directory.
  public static var standard: SocketPath {
    if let directory = environment("RUNTIME_DIRECTORY") { return SocketPath("\(directory)/hub.sock") }
    if getuid() == 0 { return SocketPath("/run/sensorhub/hub.sock") }
    if let directory = environment("XDG_RUNTIME_DIR") { return SocketPath("\(directory)/sensorhub/hub.sock") }
    return SocketPath("/tmp/sensorhub-\(getuid())/hub.sock")
  }

  /// Where a client looks: the user's own hub first, then the system's.
  public static var candidates: [SocketPath] {
    [standard, SocketPath("/run/sensorhub/hub.sock")]
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
