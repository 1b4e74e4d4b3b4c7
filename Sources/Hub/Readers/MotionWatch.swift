import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Tells whether the board moves, while somebody wants to know: it has an inertial sensor wait for motion, which takes microamperes,
/// and a thread that sleeps until its line changes. While somebody wants what the chip measures the samples tell.
///
/// The supply stays on meanwhile. After a motion the chip says no more until it is looked at: a board that moves all day wakes nobody.
final class MotionWatch: Sendable {
  /// A new subscriber gets the present one first.
  let stillness: LazyPublisher<Stillness, Never>
  private let source: LazyPublisher<Stillness, HardwareError>
  private let turn: ChipTurn

  /// `nil` where the chip cannot wait for motion, or its line is not wired.
  ///
  /// - Parameters:
  ///   - turn: at the chip
  ///   - readings: what the chip measures while others want that
  init?(
    _ description: IMUDescription, _ turn: ChipTurn, _ readings: LazyPublisher<IMUBatch, Never>,
    _ monitor: DeviceMonitor, _ rail: PowerRail, on machine: Machine
  ) {
    guard let chip = WaitingChip(description, on: machine) else { return nil }
    let (power, clock, hint) = (description.power, machine.clock, machine.retryHint.signal(for: description.id))
    let name = "\(description.id) motion"
    let source = LazyPublisher<Stillness, HardwareError>(
      name, timing: MotionWatch.timing(power.timing), clock: clock,
      lacking: { .system("starting to wait for motion", errno: $0) },
      reading: { (reading) throws(HardwareError) in
        let progress = ReaderProgress()
        let poller = Poller(stop: reading.stop.fileDescriptor, progress: progress)
        let watch = machine.supervisor.watch(progress, patience: .seconds(2)) {
          rail.cut(for: name)
          reading.hangs(.stuck("what waits for the motion of \(description.id)"))
        }
        defer { watch.cancel() }
        let resuming = clock.onResume { _ in reading.interrupts(.suspended) }
        defer { resuming.end() }
        guard monitor.waitsForGate(poller) else { return }
        let timing = monitor.timing
        guard
          let since = try rail.require(for: name, after: timing.minimumOff, atLeast: timing.minimumOn, poller)
        else { return }
        defer { rail.release(for: name) }
        reading.switchedOn()
        let unsettled = power.settleTime - (clock.now - since)
        if unsettled > .zero, poller.wait(for: nil, atMost: unsettled) == .stopped { return }
        reading.started()
        while true {
          if turn.beginWatch() {
            defer { turn.endWatch() }
            do throws(HardwareError) {
              defer {
                monitor.waitsForMotion(milliamperes: nil)
                // Nobody goes by what was known before.
                reading.send(.unknown)
              }
              let end = try chip.wait(poller, turn) { stillness in
                monitor.waitsForMotion(milliamperes: chip.milliamperes)
                monitor.remark(on: .motion, nil)
                reading.send(stillness)
              }
              if end == .stopped { return }
            } catch {
              monitor.remark(on: .motion, "it does not wait for motion, so fixes come as scheduled: \(error)")
              throw error
            }
          } else if poller.wait(for: turn.news.fileDescriptor) == .stopped {
            return
          } else {
            _ = turn.takeNews()
          }
        }
      })
    self.source = source
    self.turn = turn
    stillness = LazyPublisher(
      deriving: name, replaysLatest: true, clock: clock, holderObserver: StillnessHolders(monitor: monitor)
    ) { (run) throws(Never) in
      let samples = SampledMotion.changes(in: readings, endingAt: turn.returned, as: run.holders) { run.send($0) }
      let waiting = source.retrying(
        { _ in Backoff(initial: .seconds(1), maximum: .seconds(60)) }, hint: hint, clock: clock
      ).subscribe(as: run.holders, receiveValue: { run.send($0) }, receiveCompletion: { run.finish($0) })
      return Subscription {
        waiting.cancel()
        samples.cancel()
      }
    }
  }

  /// Has the chip asked whether it has moved; from here on it tells of the next motion. For who has seen that it `moved`, and for who
  /// wants to be sure that it still waits. Waits for nothing.
  func look() { turn.question() }

  /// Its supply has other least times from here on.
  func changeTiming(to timing: LifecycleTiming) { source.changeTiming(to: MotionWatch.timing(timing)) }

  /// It does not linger.
  private static func timing(_ timing: LifecycleTiming) -> LifecycleTiming {
    LifecycleTiming(minimumOn: timing.minimumOn, minimumOff: timing.minimumOff)
  }

  var activity: Property<Activity> { source.activity }

  var isActive: Bool { source.activity.value.phase.isAtWork }

  func shutDown(because reason: String) {
    stillness.shutDown(because: reason)
    source.shutDown(because: reason)
  }

  /// Returns once it does not need the supply any more.
  func isOff() async {
    for await now in source.activity.values(as: "shutdown") where !now.phase.isAtWork { break }
  }
}

extension Activity.Phase {
  fileprivate var isAtWork: Bool { self != .idle && self != .failed }
}
