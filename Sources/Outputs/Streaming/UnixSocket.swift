import CLinux
import Glibc
import HardwareIO

/// The system calls for Unix stream sockets.
public enum UnixSocket {
  /// Listens on a path. The socket of a hub that has ended is replaced; the socket of a running hub is not.
  ///
  /// - Parameter folder: the folder of the path, checked by the hub, so that no other user can change its contents
  static func listen(_ path: String, in folder: Folder) throws(SocketError) -> Int32 {
    let name = SocketPath.name(of: path)
    if let other = try? connect(path, in: folder) {
      close(other)
      throw .inUse(path: path)
    }
    // Until a hub listens, the socket has another name, so that a client that sees the socket can connect to it.
    let unfinished = name + "~"
    // A mistyped path may name a board file or a recording.
    for (name, path) in [(name, path), (unfinished, path + "~")] where folder.hasFile(name) {
      throw .notSocket(path: path)
    }
    folder.remove(unfinished)
    let descriptor = try open(path)
    let result = withAddress(folder.path(to: unfinished)) { bind(descriptor, $0, $1) }
    // If a client leaves between poll(2) and accept(2), accept(2) must not wait for the next client.
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var number = result == 0 && Glibc.listen(descriptor, 64) == 0 ? 0 : errno
    if number == 0 {
      do throws(Files.Errno) {
        // Every user who can reach the folder may connect: users of one board need not hide positions from each
        // other.
        try folder.openToAll(socket: unfinished)
        try folder.rename(unfinished, to: name)
      } catch {
        number = error.rawValue
      }
    }
    guard number == 0 else {
      close(descriptor)
      folder.remove(unfinished)
      switch number {
      case EACCES, EPERM, EROFS: throw .noPermission(path: path)
      default: throw .system(path: path, doing: "listening on", errno: number)
      }
    }
    return descriptor
  }

  /// Connects to a hub, as a client that will send a request.
  ///
  /// - Parameter folder: the folder of the path, with a checked owner; `nil` for a path that the user has given
  public static func connect(_ path: String, in folder: Folder? = nil) throws(SocketError) -> Int32 {
    let descriptor = try open(path)
    nameEnd(of: descriptor)
    let place = folder?.path(to: SocketPath.name(of: path)) ?? path
    guard withAddress(place, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
      let error = errno
      close(descriptor)
      switch error {
      case ENOENT, ECONNREFUSED, ENOTDIR: throw .notRunning(path: path)
      case EACCES, EPERM: throw .noPermission(path: path)
      default: throw .system(path: path, doing: "connecting to", errno: error)
      }
    }
    return descriptor
  }

  private static func open(_ path: String) throws(SocketError) -> Int32 {
    guard path.utf8.count < 108 else { throw .system(path: path, doing: "using", errno: ENAMETOOLONG) }
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw .system(path: path, doing: "creating the socket", errno: errno) }
    return descriptor
  }

  /// Binds a client's end to a name that the kernel chooses, before the client connects (unix(7), "autobind"). The
  /// name arrives with the connection, so the hub knows at once that a request will follow, even if this machine is
  /// slow to send it.
  private static func nameEnd(of descriptor: Int32) {
    var family = sockaddr()
    family.sa_family = sa_family_t(AF_UNIX)
    // If this fails, the client only has less time for its request.
    _ = bind(descriptor, &family, socklen_t(MemoryLayout<sa_family_t>.size))
  }

  /// Whether the client has bound its end to a name.
  static func isNamed(_ descriptor: Int32) -> Bool {
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
    } && size > MemoryLayout<sa_family_t>.size
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  /// The process and user at the other end. If the kernel does not know them, the process is 0 and the user the largest
  /// number.
  static func guest(_ descriptor: Int32) -> LocalAdmission.Guest {
    var peer = clinux_peer()
    guard clinux_socket_peer(descriptor, &peer) == 0 else { return LocalAdmission.Guest(process: 0, user: .max) }
    return LocalAdmission.Guest(process: peer.pid, user: peer.uid)
  }

  /// The groups of the user at the other end, the primary group first; empty if the kernel does not know them.
  static func groups(_ descriptor: Int32) -> [UInt32] {
    var peer = clinux_peer()
    guard clinux_socket_peer(descriptor, &peer) == 0 else { return [] }
    var groups = [UInt32](repeating: 0, count: 1024)
    let count = clinux_socket_peer_groups(descriptor, &groups, Int32(groups.count))
    return [peer.gid] + groups[..<max(0, Int(count))]
  }

  /// The process at the other end, for example `gpsd[812]`.
  static func peer(_ descriptor: Int32) -> ClientPeer {
    var peer = clinux_peer()
    guard clinux_socket_peer(descriptor, &peer) == 0 else { return ClientPeer(by: "socket client") }
    return ClientPeer(
      process: peer.pid, called: Files.commandName(ofProcess: peer.pid).flatMap(ClientName.shown) ?? "client")
  }
}
