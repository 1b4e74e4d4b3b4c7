import CLinux
import Glibc
import TestSupport

/// A client that connects from a chosen address of this machine, as if from another machine. It has no thread of its
/// own, because there may be a thousand: it reads while the test waits for bytes.
final class Peer {
  private let client: WireClient

  /// Waits until a server listens: the hub opens its ports one after the other, and some of them after its start
  /// message.
  init(_ port: UInt16, from address: [UInt8] = [127, 0, 0, 1]) {
    var (connected, error): (Int32, Int32) = (-1, 0)
    let isConnected = eventually {
      connected = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      precondition(connected >= 0, "no descriptor left")
      precondition(clinux_bind_tcp(connected, address, 4, 0) == 0, "cannot be at \(address)")
      if Peer.connect(connected, to: port) { return true }
      error = errno
      close(connected)
      return false
    }
    precondition(isConnected, "cannot connect: \(String(cString: strerror(error)))")
    client = WireClient(connected)
  }

  private static func connect(_ socket: Int32, to port: UInt16) -> Bool {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Disconnects.
  func leave() { client.leave() }

  /// Forgets the bytes that have arrived.
  func forget() { client.forget() }

  /// Sends the bytes that the other end accepts at once. The rest is lost.
  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) { client.sendNow(bytes) }

  /// Everything received so far.
  var text: String {
    client.takeArrived()
    return client.text
  }

  /// Waits until `text` has arrived. Returns false if the other end closes first.
  func receives(_ text: String) -> Bool { client.receives(text) }

  /// Reads until the received text meets a condition. Returns false if the other end closes first, or after a limit that
  /// only keeps a failing test from waiting for ever.
  func reads(until isMet: () -> Bool) -> Bool { client.reads(until: isMet) }

  /// Reads until the other end closes. Returns false after the limit.
  func waitsForEnd() -> Bool { client.waitsForEnd() }

  /// The number of complete lines that have arrived.
  var lineCount: Int {
    client.takeArrived()
    return client.lineCount
  }

  /// Whether the other end has not closed the connection.
  var isOpen: Bool { client.isOpen }

  /// Raises this process's limit of open files for crowds, several of which may run at a time. The usual limit is 1024.
  static func allowCrowds() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 16_384))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
