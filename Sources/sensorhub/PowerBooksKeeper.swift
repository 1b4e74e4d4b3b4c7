import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Outputs
import Publishing

/// Keeps the power books in a file: reads it at the start, writes it now and then while devices are awake and once after, and at
/// the end. On threads of its own: nobody waits for the disk. While all sleep there is nothing to do, and no timer.
final class PowerBooksKeeper: Sendable {
  private struct State {
    var writtenAt: MonotonicInstant?
    var next: ScheduledAction?
    var isOver = false
    /// What was wrong at the last try.
    var problem: String?
  }

  /// Cards wear out.
  private static let interval = Duration.seconds(15 * 60)
  /// After the first visit.
  private static let delay = Duration.seconds(60)
  private static let mostBytes = 16 << 20

  static var path: String { "\(StateFolder.path)/power.json" }

  private let host: HubHost
  private let sink: JournalSink
  private let path = PowerBooksKeeper.path
  private let state = Guarded(State())
  /// One writes at a time.
  private let disk = Guarded(())
  private let hubs = Lifetime()
  private let devices = Guarded(Lifetime())

  init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  private var machine: Machine { host.hub.value.machine }

  func begin() {
    restore()
    host.hub.subscribe(as: "power books", receiveValue: { [weak self] in self?.follow($0) }).store(in: hubs)
  }

  private func restore() {
    let text: [UInt8]
    do throws(Files.Errno) {
      text = try Files.bytes(of: path, limit: PowerBooksKeeper.mostBytes)
    } catch {
      // The first time there is none.
      if error.rawValue != Files.Errno.noSuchFile {
        sink.write(.warning, "\(path) cannot be read, so what devices cost is learnt anew: \(error)")
      }
      return
    }
    do throws(BoardError) {
      try machine.books.restore(text, file: path)
    } catch {
      let kept = Files.move(path, to: path + ".damaged") ? "; it is kept as \(path).damaged" : ""
      sink.write(.warning, "what devices cost is learnt anew, as its file is damaged: \(error)\(kept)")
    }
  }

  private func follow(_ hub: Hub) {
    let lifetime = Lifetime()
    for monitor in hub.monitors {
      monitor.changes.subscribe(
        as: "power books", receiveValue: { [weak self] status in if !status.power.isRest { self?.scheduleNext() } }
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
      let soon = clock.now + PowerBooksKeeper.delay
      return state.writtenAt.map { max(soon, $0 + PowerBooksKeeper.interval) } ?? soon
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

  /// On the timer's thread.
  private func isDue() {
    let error = DetachedThread.start("power books") { [weak self] in
      guard let self else { return }
      write()
      state.withLock { $0.next = nil }
      if host.hub.value.monitors.contains(where: { !$0.changes.value.power.isRest }) { scheduleNext() }
    }
    // With the next change, then.
    if error != 0 { state.withLock { $0.next = nil } }
  }

  private func write() {
    // What has been drawn up to now.
    _ = host.hub.value.devices
    let books = machine.books
    let problem = disk.withLock { _ -> String? in
      do {
        try StateFolder.make()
        try Files.replace(path, with: books.text)
        return nil
      } catch {
        return "what devices cost is forgotten with this run, as \(path) cannot be written: \(error)"
      }
    }
    let now = machine.clock.now
    let isNew = state.withLock { state in
      defer { state.problem = problem }
      state.writtenAt = now
      return problem != state.problem
    }
    if isNew, let problem { sink.write(.warning, problem) }
  }

  /// Once all devices are off.
  func end() {
    hubs.end()
    devices.withLock { $0 }.end()
    let next = state.withLock { state in
      state.isOver = true
      defer { state.next = nil }
      return state.next
    }
    next?.cancel()
    write()
  }
}
