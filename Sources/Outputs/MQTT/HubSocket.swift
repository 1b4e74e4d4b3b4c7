import CLinux
import Glibc

/// A `BrokerClient`'s end of the socket to its hub. When the hub is gone, the process ends.
struct HubSocket: ~Copyable {
  let descriptor = STDIN_FILENO
  private var orders = BrokerRecords(byteLimit: BrokerOrder.byteLimit)

  /// Whether a hub has started this process.
  var isThere: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }

  /// Sends a report. Blocks until the socket has accepted it. In the meantime nothing is read from the broker.
  func report(_ report: BrokerReport) {
    var rest = report.bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { exit(0) }
      rest = rest.dropFirst(count)
    }
  }

  /// Reads once, without blocking.
  mutating func read(_ take: (BrokerOrder) -> Void) {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    let count = piece.withUnsafeMutableBytes { clinux_receive_now(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { exit(0) }
    do throws(MalformedBrokerRecord) {
      try orders.take(piece[..<count]) { record throws(MalformedBrokerRecord) in take(try BrokerOrder(record)) }
    } catch {
      // The hub runs another version of this program, so the process ends.
      exit(76)
    }
  }

  /// Waits for the first order to connect, and returns the access to the broker that it contains.
  mutating func access() -> BrokerAccess {
    while true {
      var access: BrokerAccess?
      clinux_wait_readable(descriptor)
      read { if case .connect(let given) = $0 { access = given } }
      if let access { return access }
    }
  }
}
