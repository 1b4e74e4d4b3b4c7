import CAllocations
import Glibc
import HardwareIO

/// Another program, run to measure its cost.
enum Child {
  /// The CPU seconds of the fastest of several runs, with discarded output; `nil` if the program is not installed.
  static func cpuSeconds(_ arguments: [String], input: String? = nil, runs: Int = 5) -> Double? {
    var best: Double?
    for _ in 0..<runs {
      let before = callocations_children_seconds()
      guard let pid = start(arguments, input: input) else { return nil }
      var status: Int32 = 0
      waitpid(pid, &status, 0)
      guard status == 0 else { return nil }
      best = min(best ?? .infinity, callocations_children_seconds() - before)
    }
    return best
  }

  static func start(_ arguments: [String], input: String? = nil) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for argument in argv { free(argument) } }
    var pid: pid_t = 0
    return posix_spawnp(&pid, arguments[0], &actions, nil, &argv, environ) == 0 ? pid : nil
  }

  /// The number of voluntary and involuntary context switches of a process's threads.
  static func contextSwitches(_ pid: pid_t) -> Int {
    var sum = 0
    for task in Files.names(in: "/proc/\(pid)/task") {
      let status = (try? Files.bytes(of: "/proc/\(pid)/task/\(task)/status")) ?? []
      for line in String(decoding: status, as: UTF8.self).split(separator: "\n") where line.contains("ctxt_switches") {
        sum += line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
      }
    }
    return sum
  }
}

func pause(seconds: Double) { _ = poll(nil, 0, Int32(seconds * 1000)) }

func fixed(_ value: Double, _ decimals: Int) -> String {
  if decimals == 0, value.isFinite { return "\(Int(value.rounded()))" }
  var scale = 1.0
  for _ in 0..<decimals { scale *= 10 }
  return "\((value * scale).rounded() / scale)"
}
