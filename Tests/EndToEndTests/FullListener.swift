import CLinux
import Glibc
import HardwareIO
import TestSupport

/// A port of this machine that lets a client wait for an answer, like a network that loses all packets. No program
/// accepts connections, and the queue is full.
final class FullListener {
  private var descriptors: [Int32] = []
  private let port: UInt16

  init(port: UInt16) {
    self.port = port
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var isReused: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
    descriptors = [listener]
    withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        precondition(bind(listener, address, size) == 0 && listen(listener, 0) == 0)
        // The kernel queues one connection more than requested.
        for _ in 0..<4 {
          let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
          _ = connect(filler, address, size)
          descriptors.append(filler)
        }
      }
    }
    // Close the clients that found no room. Otherwise they would take the room that becomes free later.
    _ = eventually { FullListener.unanswered(port) > 0 }
    for filler in descriptors.dropFirst() where !FullListener.isConnected(filler) {
      close(filler)
      descriptors.removeAll { $0 == filler }
    }
  }

  deinit { end() }

  /// Whether another client waits for an answer.
  var isTried: Bool { FullListener.unanswered(port) > 0 }

  func end() {
    for descriptor in descriptors {
      // A program that is just being started has a copy of the descriptor until it runs, and would block the port for
      // the next user.
      shutdown(descriptor, Int32(SHUT_RDWR))
      close(descriptor)
    }
    descriptors = []
  }

  /// Whether a non-blocking socket is connected.
  static func isConnected(_ socket: Int32) -> Bool {
    var descriptor = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
    return poll(&descriptor, 1, 0) == 1 && descriptor.revents == Int16(POLLOUT)
  }

  /// The number of connections to a port without an answer yet.
  private static func unanswered(_ port: UInt16) -> Int {
    let table = String(decoding: (try? Files.bytes(of: "/proc/net/tcp")) ?? [], as: UTF8.self)
    return table.split(separator: "\n").count { line in
      let fields = line.split(separator: " ")
      guard fields.count > 3, let colon = fields[2].lastIndex(of: ":") else { return false }
      return UInt16(fields[2][fields[2].index(after: colon)...], radix: 16) == port && fields[3] == "02"
    }
  }
}
