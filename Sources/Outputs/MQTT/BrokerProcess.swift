import CLinux
import Glibc

/// The hub's end of the process that holds one connection to a broker. The process runs this program, started again.
///
/// libmosquitto reads everything that a broker sends. Any attacker on the line can make it abort with six bytes, and
/// one message can fill the memory. The library therefore runs in a separate process (`BrokerClient`) with a memory
/// limit. If that process dies, the hub has lost one connection, and starts the next one after the pause of
/// `ReconnectBackoff`. The hub and the process exchange records over a socket: `BrokerOrder` to the process,
/// `BrokerReport` back. Passwords go over that socket too, never in arguments or the environment.
///
/// Use this on one thread, which must outlive this object: the kernel kills the process when the thread that started
/// it ends.
final class BrokerProcess {
  /// The first argument of the process, in place of a subcommand.
  static let argument = "mqtt-connection"
  /// The length of the longest message in either direction, in bytes.
  static let longestMessage = 1 << 20
  private static let pieceByteCount = 1 << 16

  /// A descriptor that is readable when the process has sent a report or has ended.
  let socket: Int32
  private let pid: pid_t
  /// The status from waitpid(2); `nil` until the process has ended.
  private var status: Int32?
  private var orders: [UInt8] = []
  private var reports: BrokerRecords
  private var piece = [UInt8](repeating: 0, count: BrokerProcess.pieceByteCount)

  /// The reason why the process did not start, or cannot be used any more.
  struct Failure: Error, Equatable {
    var reason: String
  }

  /// - Parameter program: the executable; `/proc/self/exe` is right even after an update has replaced or deleted the
  ///   file
  init(_ access: BrokerAccess, program: String = "/proc/self/exe") throws(Failure) {
    // If the executable ignored its arguments, it would start itself again and again.
    if CommandLine.arguments.dropFirst().first == BrokerProcess.argument {
      throw Failure(reason: "this program does not begin with BrokerClient.runIfAsked()")
    }
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw Failure(reason: "cannot create a socket for the broker's process: \(String(cString: strerror(errno)))")
    }
    defer { close(ends[1]) }
    let error: Int32
    (pid, error) = BrokerProcess.spawn(program, input: ends[1])
    guard error == 0 else {
      close(ends[0])
      throw Failure(reason: "cannot start the broker's process: \(String(cString: strerror(error)))")
    }
    socket = ends[0]
    reports = BrokerRecords(byteLimit: access.maximumPacketByteCount + BrokerReport.overheadByteCount)
    order(.connect(access))
  }

  /// Kills the process at once, even if it is busy.
  deinit {
    close(socket)
    end()
  }

  /// Kills the process unless it has ended by itself, and waits for it.
  ///
  /// - Returns: the signal that ended it; 0 if it exited
  @discardableResult
  private func end() -> Int32 {
    if let status { return status & 0x7f }
    kill(pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    self.status = status
    return status & 0x7f
  }

  /// - Returns: the process, and 0 or an error number
  private static func spawn(_ program: String, input: Int32) -> (pid: pid_t, error: Int32) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    // The library prints a message before it aborts, which does not belong in a log.
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    _ = clinux_spawn_close_from(&actions, STDERR_FILENO + 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sensorhub"), strdup(argument), nil]
    defer { for text in arguments { free(text) } }
    var pid: pid_t = 0
    let error = posix_spawn(&pid, program, &actions, &attributes, &arguments, environ)
    return (pid, error)
  }

  /// Sends an order. If the socket does not accept it now, the rest is sent later. The caller limits the number of
  /// unanswered orders.
  func order(_ order: BrokerOrder) {
    orders += order.bytes
    send()
  }

  /// Whether orders wait until the socket is writable.
  var hasOrders: Bool { !orders.isEmpty }

  /// Sends waiting bytes, without blocking.
  func send() {
    while !orders.isEmpty {
      let count = orders.withUnsafeBytes { clinux_send_now(socket, $0.baseAddress, $0.count) }
      // If the process is gone, `read` reports it.
      guard count > 0 else { return }
      orders.removeFirst(count)
    }
  }

  /// Reads once, without blocking.
  ///
  /// - Throws: if the process has ended, or sends an invalid report
  func read(_ take: (BrokerReport) -> Void) throws(Failure) {
    let count = piece.withUnsafeMutableBytes { clinux_receive_now(socket, $0.baseAddress, $0.count) }
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { throw Failure(reason: howItEnded()) }
    do throws(MalformedBrokerRecord) {
      try reports.take(piece[..<count]) { record throws(MalformedBrokerRecord) in take(try BrokerReport(record)) }
    } catch {
      throw Failure(reason: "the broker's process has sent invalid data, and was stopped")
    }
  }

  /// Describes how the process ended, after it has closed its end of the socket.
  private func howItEnded() -> String {
    let signal = end()
    if signal == 0 { return "the broker's process has ended" }
    if signal == SIGKILL { return "the broker's process was killed" }
    let cause = "the broker, or an attacker on the line, has sent data that crashes libmosquitto"
    return "\(cause) (signal \(signal)); the library runs in a process of its own"
  }
}
