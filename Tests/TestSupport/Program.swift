import CLinux
import Glibc
import Guarding
import HardwareIO

/// A program under test in its own process.
public final class Program: Sendable {
  public let pid: pid_t
  private let output = ArrivingBytes()
  private let error = ArrivingBytes()
  private let status = Guarded<Int32?>(nil)
  /// A lock that is held while a program starts and while a file is written. Between fork and exec a program has all
  /// open files of this process, and a file that any process has open for writing cannot be executed.
  static let starting = Guarded(0)

  /// Starts a program by other means than this type, under the same lock.
  public static func starting<Result>(_ start: () throws -> Result) rethrows -> Result {
    try starting.withLock { _ in try start() }
  }

  /// The `sensorhub` that SENSORHUB_PROGRAM names, or else the one built together with the tests.
  public static let sensorhub: String = {
    if let path = getenv("SENSORHUB_PROGRAM") { return String(cString: path) }
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, 4095)
    let executable = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return executable.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/sensorhub"
  }()

  /// - Parameter environment: variables to add to the tests' own, `NAME=value`
  public init(
    _ arguments: [String], path: String = Program.sensorhub, input: [UInt8]? = nil, environment: [String] = []
  ) {
    TestRunGuardian.ofThisProcess
    let out = Program.pipe()
    let err = Program.pipe()
    let standardInput = Program.pipe()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, standardInput.read, 0)
    posix_spawn_file_actions_adddup2(&actions, out.write, 1)
    posix_spawn_file_actions_adddup2(&actions, err.write, 2)
    // No other descriptor is passed on. Otherwise a port, lock or connection of another test would live on in the
    // program.
    _ = clinux_spawn_close_from(&actions, 3)
    // The signal handlers are those that a shell would set, whatever started the tests.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    var pid: pid_t = 0
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }
    // Each name occurs once. Of two, some programs would take the first and shells the last.
    let names = environment.map { $0.prefix { $0 != "=" } + "=" }
    var inherited = environ
    while let variable = inherited.pointee {
      if !names.contains(where: { String(cString: variable).hasPrefix($0) }) { variables.append(strdup(variable)) }
      inherited += 1
    }
    variables.append(nil)
    let result = Program.starting.withLock { _ in posix_spawn(&pid, path, &actions, &attributes, &argv, &variables) }
    precondition(
      result == 0,
      "cannot start \(path): \(String(cString: strerror(result))); make test-programs installs what the tests need")
    for text in argv + variables { free(text) }
    posix_spawn_file_actions_destroy(&actions)
    posix_spawnattr_destroy(&attributes)
    close(out.write)
    close(err.write)
    close(standardInput.read)
    self.pid = pid
    Program.collect(out.read, in: output)
    Program.collect(err.read, in: error)
    if let input { _ = input.withUnsafeBytes { Glibc.write(standardInput.write, $0.baseAddress, $0.count) } }
    close(standardInput.write)
  }

  deinit {
    guard status.withLock({ $0 }) == nil else { return }
    kill(pid, SIGKILL)
    // The output is no longer collected.
    _ = ends(within: .seconds(180))
  }

  public var standardOutput: String { output.text }
  public var standardError: String { error.text }
  public var lines: [String] { standardOutput.split(separator: "\n").map(String.init) }

  /// Waits until the program's standard output contains `text`. Returns false if the program ends first.
  public func prints(_ text: String) -> Bool { output.waits(for: text) }

  /// Waits until the program's standard error contains `text`. Returns false if the program ends first.
  public func logs(_ text: String) -> Bool { error.waits(for: text) }

  /// Waits until the program's output meets a condition, which is checked again whenever more of it arrives. Returns
  /// false if the program ends first.
  ///
  /// ```swift
  /// #expect(watch.prints { $0.count > 25 })
  /// ```
  public func prints(_ isMet: (_ lines: [String]) -> Bool) -> Bool { output.waits { isMet(lines) } }

  /// Waits until the program's standard error meets a condition, as `prints`.
  public func logs(_ isMet: (_ text: String) -> Bool) -> Bool { error.waits { isMet(standardError) } }

  /// Sends a signal to the program, unless its end has been seen. After that the number may belong to another process.
  public func send(_ signal: Int32) { status.withLock { if $0 == nil { kill(pid, signal) } } }

  /// Stops the program, and returns once all of its threads have stopped. One thread passes SIGSTOP on to the others,
  /// which continue for as long as that thread waits for a busy machine's processor.
  public func halt() -> Bool {
    send(SIGSTOP)
    return eventually { !isRunning || Files.names(in: "/proc/\(pid)/task").allSatisfy(isHalted) }
  }

  private func isHalted(_ thread: String) -> Bool {
    guard let status = try? Files.bytes(of: "/proc/\(pid)/task/\(thread)/stat") else { return true }
    // The state follows the name, which is in parentheses.
    return status.lastIndex(of: UInt8(ascii: ")")).map { status.dropFirst($0 + 2).first == UInt8(ascii: "T") } ?? true
  }

  /// Waits for the end, until all output has been collected; returns the exit code, or minus the signal.
  ///
  /// - Parameter limit: the time after which the program is killed, so that it does not keep the whole run from ending
  @discardableResult
  public func wait(within limit: Duration = .seconds(240)) -> Int32 {
    if !ends(within: limit) {
      send(SIGKILL)
      _ = ends(within: .seconds(180))
    }
    let raw = status.withLock { $0 } ?? SIGKILL
    _ = output.waitsForEnd() && error.waitsForEnd()
    return raw & 0x7F == 0 ? raw >> 8 & 0xFF : -(raw & 0x7F)
  }

  /// Blocks until the program has ended. Returns false after the limit.
  public func ends(within limit: Duration) -> Bool {
    // A program whose end has been seen may have lost its number to another process.
    let process = status.withLock { $0 == nil ? clinux_open_process(pid) : -1 }
    guard process >= 0 else { return !isRunning }
    defer { close(process) }
    let clock = ContinuousClock()
    let deadline = clock.now + limit
    while isRunning, case let rest = deadline - clock.now, rest > .zero {
      var event = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
      _ = poll(&event, 1, Int32(rest.components.seconds * 1000 + 1))
    }
    return !isRunning
  }

  public var isRunning: Bool {
    status.withLock { known in
      if known != nil { return false }
      var status: Int32 = 0
      guard waitpid(pid, &status, WNOHANG) == pid else { return true }
      known = status
      return false
    }
  }

  private static func collect(_ descriptor: Int32, in output: ArrivingBytes) {
    let error = DetachedThread.start("output") {
      var chunk = [UInt8](repeating: 0, count: 65536)
      while case let count = read(descriptor, &chunk, chunk.count), count > 0 { output.append(Array(chunk[..<count])) }
      close(descriptor)
      output.end()
    }
    precondition(error == 0)
  }

  private static func pipe() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    // Another test may start a program at the same time, which must not inherit these descriptors.
    let result = clinux_pipe(&ends)
    precondition(result == 0, "cannot create a pipe: \(String(cString: strerror(errno)))")
    return (ends[0], ends[1])
  }
}
