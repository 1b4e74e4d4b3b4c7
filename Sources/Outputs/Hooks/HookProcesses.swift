import CLinux
import Glibc
import Guarding
import HardwareIO
import MonotonicTime

/// Ends the processes that a hook's program leaves, even those that have left its process group (setsid(2)).
///
/// A process whose parent has ended gets another parent. This process adopts such orphans (`clinux_adopt_orphans`), and
/// recognizes them among its children by two marks that they inherit: a variable of the environment, and the memory
/// limit of hook programs, which they cannot raise. If the hub's own memory limit is lower, its hook programs have that
/// limit too, and only the variable marks them. The hub's other children, such as the processes of brokers'
/// connections, have other limits.
///
/// An orphan does not show to which hook it belongs. It is ended once all hook programs that were running when the
/// orphan started have ended. This takes at most the longest time limit of a hook. A program that removes both marks
/// runs until the service stops.
///
/// The lock of `running` is held briefly, and that of `orphans` while orphans end.
final class HookProcesses: Sendable {
  /// The hook programs of this process.
  static let shared = HookProcesses()

  private struct Entry: Equatable, Sendable {
    var pid: pid_t
    var parent: pid_t = 0
    /// The time of the start since the machine started, in clock ticks. It distinguishes a process from a later one
    /// with the same number.
    var startTicks: UInt64 = 0

    /// Reads a process from /proc (proc_pid_stat(5)); `nil` if there is none.
    init?(_ pid: pid_t) {
      guard let text = try? Files.bytes(of: "/proc/\(pid)/stat"),
        // The name is in parentheses, and may contain parentheses.
        let end = text.lastIndex(of: UInt8(ascii: ")"))
      else { return nil }
      // The number and the name of the process come before these fields, so the first one is field 3 in proc(5).
      let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
      guard fields.count > 19, let parent = pid_t(String(decoding: fields[1], as: UTF8.self)),
        let ticks = UInt64(String(decoding: fields[19], as: UTF8.self))
      else { return nil }
      (self.pid, self.parent, startTicks) = (pid, parent, ticks)
    }

    static var all: [Entry] { Files.names(in: "/proc").compactMap { pid_t($0).flatMap { Entry($0) } } }
  }

  /// The variable that marks hook programs.
  static let mark = "SENSORHUB_HOOK=1"
  /// The longest wait for killed orphans to end. A process that hangs in the kernel may take longer. The hub does not
  /// wait for it, and collects it when a later hook program has ended.
  private static let patience = Duration.seconds(1)
  /// The longest search for orphans, in case they start new processes faster than the hub kills them.
  private static let longestSearch = Duration.seconds(10)

  private let running = Guarded<[Entry]>([])
  private let orphans = Guarded(())

  /// Starts a program, and counts it as running until `ended` is called.
  func start(_ spawn: () -> (pid: pid_t, error: Int32)) -> (pid: pid_t, error: Int32) {
    _ = clinux_adopt_orphans()
    // The lock is held while the program starts. Otherwise it could be taken for an orphan before it is in the list.
    return orphans.withLock { _ in
      let (pid, error) = spawn()
      guard error == 0 else { return (pid, error) }
      if let entry = Entry(pid) { running.withLock { $0.append(entry) } }
      return (pid, error)
    }
  }

  /// Ends the orphans of a program that has ended.
  func ended(_ pid: pid_t) {
    running.withLock { $0.removeAll { $0.pid == pid } }
    let clock = MonotonicClock()
    // The lock is held so that no new program gets the process number of an orphan between the search and the signal.
    orphans.withLock { _ in
      // The wait for the lock is not a part of these times.
      let end = clock.now + HookProcesses.longestSearch
      var deadline = clock.now + HookProcesses.patience
      var killed: Set<pid_t> = []
      var known: Set<pid_t> = []
      // The children of an orphan are orphans once it has ended, so search again.
      while clock.now < deadline {
        let found = ownerless
        for orphan in found { kill(orphan.pid, SIGKILL) }
        killed.formUnion(found.map(\.pid))
        // On a slow machine a search alone may take a second, so each new orphan has its own second.
        if !known.isSuperset(of: killed) { deadline = min(end, clock.now + HookProcesses.patience) }
        known.formUnion(killed)
        killed = killed.filter { waitpid($0, nil, WNOHANG) == 0 }
        if found.isEmpty, killed.isEmpty { return }
        if !killed.isEmpty { poll(nil, 0, 1) }
      }
    }
  }

  /// The orphans that belong to no running program.
  private var ownerless: [Entry] {
    let running = running.withLock { $0 }
    return Entry.all.filter { entry in
      entry.parent == getpid() && running.allSatisfy { $0.pid != entry.pid && $0.startTicks > entry.startTicks }
        && HookProcesses.isMarked(entry.pid)
    }
  }

  private static func isMarked(_ pid: pid_t) -> Bool {
    clinux_data_limit(pid) == HookCommand.memoryByteLimit || hasVariable(pid)
  }

  private static func hasVariable(_ pid: pid_t) -> Bool {
    let variables = (try? Files.bytes(of: "/proc/\(pid)/environ", limit: 1 << 16)) ?? []
    return variables.split(separator: 0).contains { $0.elementsEqual(mark.utf8) }
  }
}
