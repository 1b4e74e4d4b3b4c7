import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Outputs
import Publishing

/// Keeps the usage histories in a file. The file is read at the start. It is written at most every 15 minutes while
/// devices are awake, once after they have gone to sleep, and at the end. Separate threads write it, so that no other
/// part waits for the disk.
///
/// While all devices sleep, or have failed without subscribers, there is no timer. The energy of a supply in that time
/// is counted and written when something else wakes the process.
///
/// Only the hub that has locked the folder writes the file. A file that cannot be read is kept under another name.
final class UsageHistoryKeeper: Sendable {
  private struct State {
    /// When the file was last written. Before the first write, when the hub began.
    var writtenAt: MonotonicInstant?
    var hasWritten = false
    var next: ScheduledAction?
    var isOver = false
    /// The error of the last attempt to write; `nil` if it succeeded.
    var problem: String?
    /// Whether nothing is written. The reason is logged once, at the start.
    var isReadOnly = false
    /// Whether another hub has locked the folder.
    var isTaken = false
    /// The lock, while this hub has it.
    var lock: Int32?
  }

  /// The shortest time between two writes while devices are awake. It is long, because writing wears out SD cards.
  private static let interval = Duration.seconds(15 * 60)
  /// The shortest time between two writes while all devices sleep.
  private static let restInterval = Duration.seconds(6 * 3600)
  /// The shortest delay of a write after a device woke.
  private static let delay = Duration.seconds(60)
  private static let mostBytes = 16 << 20

  private let host: HubHost
  private let sink: JournalSink
  private let folder: String
  private var path: String { "\(folder)/\(UsageHistoryKeeper.name)" }
  private static let name = "power.json"
  private let state = Guarded(State())
  /// Serializes writes.
  private let disk = Guarded(())
  private let boards = Lifetime()
  private let devices = Guarded(Lifetime())

  /// - Parameter folder: the folder, which is made if it is missing
  init(host: HubHost, sink: JournalSink, folder: String) {
    self.folder = folder
    self.host = host
    self.sink = sink
  }

  private var machine: Machine { host.hub.machine }

  /// Whether another hub uses the folder. This is known once the hub has started.
  var isFolderTaken: Bool { state.withLock { $0.isTaken } }

  func begin() {
    lock()
    restore()
    state.withLock { $0.writtenAt = machine.clock.now }
    host.hub.registry.subscribe(as: "usage history", receiveValue: { [weak self] in self?.follow($0) }).store(
      in: boards)
  }

  /// Locks the folder. Without the lock, two hubs would overwrite each other's usage histories.
  private func lock() {
    try? StateFolder.make(folder)
    // If the folder has a problem, the first write reports it.
    guard let folder = try? Folder(folder, of: .trusted) else { return }
    let lock: Int32?
    do throws(Files.Errno) {
      // The lock is on a file, not on the folder itself, which every user could open and lock.
      lock = try folder.lock("power.lock")
    } catch {
      return
    }
    if let lock { return state.withLock { $0.lock = lock } }
    state.withLock { ($0.isReadOnly, $0.isTaken) = (true, true) }
    sink.write(
      .warning,
      "the usage history will be lost when the hub stops: another hub stores its history in \(folder.path); give each hub a folder of "
        + "its own in STATE_DIRECTORY")
  }

  private func restore() {
    let problem: String
    do throws(Files.Errno) {
      let text = try Files.bytes(ofOwn: path, limit: UsageHistoryKeeper.mostBytes)
      do throws(BoardError) {
        for skipped in try machine.usageHistories.restore(text, file: path) {
          sink.write(.warning, "usage history: an entry is skipped: \(skipped)")
        }
        return
      } catch {
        problem = "its file is damaged: \(error)"
      }
    } catch {
      // At the first start the file does not exist.
      if error.rawValue == Files.Errno.noSuchFile { return }
      problem = "\(path) cannot be read: \(error)"
    }
    // Leave the file unchanged, because another hub has the lock.
    if state.withLock({ $0.isReadOnly }) {
      return sink.write(.warning, "the usage history cannot be read, because \(problem)")
    }
    if let copy = moveAside() {
      sink.write(.warning, "a new usage history is started, because \(problem); the old file is kept as \(copy)")
    } else {
      state.withLock { $0.isReadOnly = true }
      sink.write(
        .warning,
        "a new usage history is started, and will be lost when the hub stops, because \(problem); the old file could not be moved"
      )
    }
  }

  /// Renames a damaged file to keep it. Up to nine such files are kept; a further one replaces the last.
  ///
  /// - Returns: the new path; `nil` if the file cannot be renamed
  private func moveAside() -> String? {
    guard let folder = try? Folder(folder, of: .trusted) else { return nil }
    let names = [UsageHistoryKeeper.name + ".damaged"] + (2...9).map { "\(UsageHistoryKeeper.name).damaged-\($0)" }
    let copy = names.first { !folder.has($0) } ?? names[names.count - 1]
    do throws(Files.Errno) {
      try folder.rename(UsageHistoryKeeper.name, to: copy)
      return "\(folder.path)/\(copy)"
    } catch {
      return nil
    }
  }

  /// Counts the energy up to now, and writes the file if that is due. Call this when something else wakes the process.
  func updateEnergy() {
    let hub = host.hub
    for monitor in hub.monitors { _ = monitor.status }
    let now = machine.clock.now
    let isDue = state.withLock { state in
      guard !state.isOver, state.next == nil, let last = state.writtenAt, now - last >= UsageHistoryKeeper.restInterval
      else { return false }
      state.writtenAt = now
      return true
    }
    // If no thread can be started, the file is written after the next interval.
    if isDue { _ = DetachedThread.start("usage history") { [weak self] in self?.write() } }
  }

  private func follow(_ registry: DeviceRegistry) {
    let lifetime = Lifetime()
    for monitor in registry.monitors {
      monitor.changes.subscribe(
        as: "usage history", receiveValue: { [weak self] status in if status.power.isWorking { self?.scheduleNext() } }
      ).store(in: lifetime)
    }
    devices.withLock { old in
      defer { old = lifetime }
      return old
    }.end()
  }

  private func scheduleNext() {
    let clock = machine.clock
    let due = state.withLock { state -> MonotonicInstant? in
      if state.isOver || state.next != nil { return nil }
      let soon = clock.now + UsageHistoryKeeper.delay
      return state.hasWritten ? state.writtenAt.map { max(soon, $0 + UsageHistoryKeeper.interval) } ?? soon : soon
    }
    guard let due else { return }
    let scheduled = clock.schedule(at: due) { [weak self] in self?.isDue() }
    let isNotNeeded = state.withLock { state in
      if state.isOver || state.next != nil { return true }
      state.next = scheduled
      return false
    }
    if isNotNeeded { scheduled.cancel() }
  }

  /// Writes the file on another thread, and sets the timer again if a device is awake. Runs on the timer's thread.
  private func isDue() {
    let error = DetachedThread.start("usage history") { [weak self] in
      guard let self else { return }
      write()
      state.withLock { $0.next = nil }
      if host.hub.monitors.contains(where: { $0.changes.value.power.isWorking }) { scheduleNext() }
    }
    // The next change of a device sets the timer again.
    if error != 0 { state.withLock { $0.next = nil } }
  }

  /// Writes the file now. Waits for the disk.
  func write() {
    if state.withLock({ $0.isReadOnly }) { return }
    // Reading the devices counts their energy up to now.
    _ = host.hub.devices
    let usageHistories = machine.usageHistories
    let problem = disk.withLock { _ -> String? in
      do {
        try StateFolder.make(folder)
        try Files.replace(path, with: usageHistories.text)
        return nil
      } catch {
        return "the usage history will be lost when the hub stops, because \(path) cannot be written: \(error)"
      }
    }
    let now = machine.clock.now
    let isNew = state.withLock { state in
      defer { state.problem = problem }
      state.writtenAt = now
      state.hasWritten = true
      return problem != state.problem
    }
    if isNew, let problem { sink.write(.warning, problem) }
  }

  /// Writes the file after all devices are off.
  func end() {
    boards.end()
    devices.withLock { $0 }.end()
    let next = state.withLock { state in
      state.isOver = true
      defer { state.next = nil }
      return state.next
    }
    next?.cancel()
    write()
    let lock = state.withLock { state in
      defer { state.lock = nil }
      return state.lock
    }
    // This releases the lock.
    if let lock { close(lock) }
  }
}
