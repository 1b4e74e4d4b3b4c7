import CLinux
import Glibc

/// Ends every program that a test run has started when that run ends, for whatever reason.
///
/// A test program that is killed runs no `deinit`, and its hubs, brokers and browsers would stay. So a shell waits at a
/// pipe that only the run holds open. When the run is gone, the shell reads the end of the pipe and kills each process
/// that has the run's mark in its environment. The mark is inherited across sessions, process groups and daemons, which
/// a process group is not.
public struct TestRunGuardian: ~Copyable {
  /// The guardian of this process: `Program` starts it before the first program.
  static let ofThisProcess: Void = {
    let mark = "\(getpid())-\(UInt32.random(in: 0 ... .max))"
    setenv(variable, mark, 1)
    // The pipe closes when this process ends.
    _ = TestRunGuardian(mark: mark).release()
  }()

  /// The mark of this process as a setting, `NAME=value`. A program that gets an environment of its own must set it for
  /// the programs that it starts.
  public static var setting: String {
    ofThisProcess
    return "\(variable)=" + (getenv(variable).map { String(cString: $0) } ?? "")
  }

  /// The variable of the environment that holds the mark.
  public static let variable = "SENSORHUB_TEST_RUN"

  private let pipe: Int32
  private let pid: pid_t

  /// Starts a guardian of the processes that carry this mark.
  ///
  /// - Parameter mark: letters, digits and hyphens
  public init(mark: String) {
    // The script looks three times. A process that was starting another one the first time has done so by the second.
    let script = """
      trap '' HUP
      cat
      for look in 1 2 3; do
        for file in $(grep -lsz '^\(Self.variable)=\(mark)$' /proc/[0-9]*/environ); do
          pid=${file#/proc/}
          kill -KILL "${pid%/environ}"
        done
        sleep 0.1
      done
      """
    var ends: [Int32] = [0, 0]
    let result = clinux_pipe(&ends)
    precondition(result == 0, "cannot make a pipe: \(String(cString: strerror(errno)))")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
    // A reader of the run's output waits until no process has that output open.
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    _ = clinux_spawn_close_from(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A process group of its own, so that Ctrl-C ends the run and not its guardian.
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    let words: [String] = ["/bin/sh", "-c", script]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    // An environment without a mark, because the guardian must outlive the processes that it kills.
    var environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
    defer { for text in arguments + environment { free(text) } }
    var child: pid_t = 0
    let error = posix_spawn(&child, "/bin/sh", &actions, &attributes, &arguments, &environment)
    precondition(error == 0, "cannot start /bin/sh: \(String(cString: strerror(error)))")
    close(ends[0])
    pipe = ends[1]
    pid = child
  }

  /// Releases the guardian: it acts when this process has ended.
  private consuming func release() -> Int32 { pipe }

  /// Makes the guardian act as if the run had ended, and waits for that.
  public consuming func endRun() {
    close(pipe)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
  }
}
