import Glibc
import HardwareIO

/// The reason why a socket of the hub cannot be opened or reached.
public enum SocketError: Error, Equatable, Sendable {
  /// Another hub answers on this path.
  case inUse(path: String)
  /// Another program listens on this port.
  case portInUse(address: String)
  case notRunning(path: String)
  /// An ordinary file or a folder has this name.
  case notSocket(path: String)
  case noPermission(path: String)
  /// Another user may have made or changed the existing file.
  case untrusted(FolderError)
  case system(path: String, doing: String, errno: Int32)
}

extension SocketError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .inUse(let path): "another hub is running and answers on \(path)"
    case .portInUse(let address):
      "another program listens on \(address) (ss -ltnp shows which); stop it, or choose another port in the board file"
    case .notRunning(let path): "no hub is running: nothing answers on \(path)"
    case .notSocket(let path): "there is already \(path), and it is not a socket"
    case .noPermission(let path): "no permission for \(path)"
    case .untrusted(let error): "\(error)"
    case .system(let path, let doing, EAFNOSUPPORT):
      // The sandbox of a service is fixed when the service starts, so a reload cannot permit ports.
      "\(doing) \(path): this machine has no such network, or the service started without ports and its sandbox forbids "
        + "them; for the service: sudo systemctl restart sensorhub"
    case .system(let path, "listening on", EADDRNOTAVAIL):
      "listening on \(path): this machine does not have this address (ip address lists its addresses)"
    case .system(let path, "listening on", EACCES):
      "listening on \(path): this user may not use this port; choose one from 1024 up in the board file"
    case .system(let path, let doing, let errno): "\(doing) \(path): \(String(cString: strerror(errno)))"
    }
  }
}

extension SocketError {
  init(_ error: FolderError) {
    switch error.errno {
    case _ where error.isUntrusted: self = .untrusted(error)
    case EACCES, EPERM, EROFS: self = .noPermission(path: error.path)
    case let number: self = .system(path: error.path, doing: "opening the folder", errno: number)
    }
  }
}
