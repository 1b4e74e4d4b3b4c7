import FoundationEssentials
import Glibc
import Guarding
import MonotonicTime
import TestSupport

/// A client of the hub's socket: connecting subscribes, closing ends the lease.
final class Subscriber: Sendable {
  struct State: Decodable {
    struct Part: Decodable {
      var age: Double
      var source: String
    }
    var mode: String
    var monotonic: Double
    var position: Part?
    var rates: Part?
  }

  private let descriptor: Int32
  private let collected = Guarded((bytes: [UInt8](), isOpen: true))

  init(_ hub: HubProcess) {
    descriptor = Subscriber.connect(hub.socket)
    let descriptor = descriptor
    // Reads until the other end, or `leave`, closes.
    let error = DetachedThread.start("subscriber") { [weak self] in
      var chunk = [UInt8](repeating: 0, count: 16384)
      while true {
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0, let self else { break }
        self.collected.withLock { $0.bytes += chunk[..<count] }
      }
      self?.collected.withLock { $0.isOpen = false }
      close(descriptor)
    }
    precondition(error == 0)
  }

  deinit { leave() }

  /// Wakes the thread, which closes the descriptor.
  func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  var lineCount: Int { collected.withLock { $0.bytes.count { $0 == 10 } } }

  /// The states that have come so far.
  var states: [State] {
    collected.withLock { $0.bytes }.split(separator: 10).compactMap {
      try? JSONDecoder().decode(State.self, from: Data($0))
    }
  }

  func forget() { collected.withLock { $0.bytes = [] } }

  static func connect(_ path: String) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    precondition(result == 0, "cannot connect to \(path): \(String(cString: strerror(errno)))")
    return descriptor
  }
}

extension HubProcess {
  /// The devices without starting a program for it: quick enough to see states that last a moment.
  var devicesNow: Devices {
    let folder = socket.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    let descriptor = Subscriber.connect(folder + "/devices.sock")
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return try! JSONDecoder().decode(Devices.self, from: Data(bytes))
  }
}
