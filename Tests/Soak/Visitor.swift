import CLinux
import Glibc

/// A client that sends requests and waits for the answers, on the caller's thread.
final class Visitor {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The limit of every wait, which would otherwise be endless.
  private static let patienceSeconds = 90

  let descriptor: Int32
  private let name: String
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  /// How many bytes of the buffer may be the beginning of a mark.
  private var kept = 0

  init(port: UInt16) throws {
    name = "port \(port)"
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    try connect(&address)
  }

  init(path: String) throws {
    name = path
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    try connect(&address)
  }

  private func connect<Address>(_ address: inout Address) throws {
    var limit = timeval(tv_sec: Visitor.patienceSeconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    // The hub under test may have died. The caller reports that.
    guard result == 0 else { throw Failure(description: "\(name): \(String(cString: strerror(errno)))") }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  func ask(_ text: String) throws { try ask(Array(text.utf8)) }

  func ask(_ bytes: [UInt8]) throws {
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw Failure(description: "\(name) takes nothing any more: \(String(cString: strerror(errno)))")
    }
  }

  /// Reads until a mark has arrived `times` times.
  func wait(for mark: [UInt8], _ times: Int = 1) throws {
    var missing = times
    while missing > 0 {
      let count = recv(descriptor, buffer.baseAddress.map { $0 + kept }, buffer.count - kept, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let reason = count == 0 ? "has closed" : "does not answer"
        throw Failure(description: "\(name) \(reason), waiting for '\(String(decoding: mark, as: UTF8.self))'")
      }
      missing -= take(kept + count, mark)
    }
  }

  /// Reads up to the first byte equal to `end`. Returns everything up to it.
  func text(through end: UInt8) throws -> String {
    var text: [UInt8] = []
    while !text.contains(end) {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      guard count > 0 else {
        throw Failure(
          description: "\(name) \(count == 0 ? "has closed" : "does not answer"), after \(text.count) bytes")
      }
      text += UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }
    kept = 0
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether a mark is among the bytes that have arrived.
  func hasReceived(_ mark: [UInt8]) -> Bool {
    let count = clinux_receive_now(descriptor, buffer.baseAddress.map { $0 + kept }, buffer.count - kept)
    return count > 0 && take(kept + count, mark) > 0
  }

  /// Discards the bytes that have arrived.
  func drain() {
    kept = 0
    while clinux_receive_now(descriptor, buffer.baseAddress, buffer.count) > 0 {}
  }

  /// Disconnects without notice, like a machine that loses its power.
  func vanish() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
  }

  /// Counts the marks in the first bytes of the buffer, and keeps a possible beginning of another one.
  private func take(_ count: Int, _ mark: [UInt8]) -> Int {
    guard let base = buffer.baseAddress else { return 0 }
    var found = 0
    var position = 0
    while count - position >= mark.count,
      let next = memchr(base + position, Int32(mark[0]), count - position - mark.count + 1)
    {
      position = next - base
      if memcmp(next, mark, mark.count) == 0 {
        found += 1
        position += mark.count
      } else {
        position += 1
      }
    }
    kept = min(count - position, mark.count - 1)
    memmove(base, base + (count - kept), kept)
    return found
  }
}
