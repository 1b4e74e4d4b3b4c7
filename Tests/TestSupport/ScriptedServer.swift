import CLinux
import Glibc
import Guarding
import HardwareIO

/// A TCP server on this machine that sends what a test specifies.
public final class ScriptedServer: Sendable {
  public let port: UInt16
  /// The connections, in the order of their arrival.
  public let clients = Recorder<SocketClient>()
  private let stop = StopSignal()

  /// - Parameters:
  ///   - wanted: the port of an ended server; 0 for any free port
  ///   - serve: called on the server's thread with each connection
  public init(at wanted: UInt16 = 0, serving serve: @escaping @Sendable (SocketClient) -> Void = { _ in }) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    // The port may be any free one. It is not given away before this socket is closed.
    let isListening =
      clinux_bind_tcp(listener, [127, 0, 0, 1], 4, wanted) == 0 && listen(listener, 16) == 0
      && withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) == 0 }
      }
    precondition(isListening, "cannot listen on a port")
    port = UInt16(bigEndian: address.sin_port)
    let (clients, poller) = (clients, Poller(stop: stop.fileDescriptor))
    let error = DetachedThread.start("scripted server") {
      while poller.wait(for: listener) == .readable {
        let descriptor = clinux_accept(listener)
        guard descriptor >= 0 else { continue }
        let client = SocketClient(accepted: descriptor)
        clients.append(client)
        serve(client)
      }
      Glibc.close(listener)
    }
    precondition(error == 0, "cannot start a thread")
  }

  deinit { end() }

  /// Whether the server was told to end.
  public var isOver: Bool { stop.isSet }

  /// Accepts no further connection, and closes the present ones.
  public func end() {
    stop.set()
    for client in clients.values { client.leave() }
  }
}
