import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Detects motion of the board while it has observers. An inertial sensor waits for motion, which takes microamperes,
/// and a thread sleeps until the sensor's line changes. While the chip has subscribers, its samples show motion.
///
/// The supply stays on. After a motion the chip reports nothing more until it is read, so a board that moves all day
/// does not wake the processor all day.
final class MotionWatch: Sendable {
  /// The state of motion. A new subscriber first gets the present one.
  let stillness: LazyPublisher<Stillness, Never>
  private let source: LazyPublisher<Stillness, HardwareError>
  private let turn: ChipTurn

  /// `nil` if the chip cannot wait for motion, or its line is not wired.
  ///
  /// - Parameters:
  ///   - turn: arbitrates the use of the chip
  ///   - readings: the chip's samples while it has other subscribers
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
                // Earlier results do not apply any more.
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

  /// Requests a reading of the chip, after which it reports the next motion. Observers call this after `moved`, and to
  /// make sure that the chip still waits. It does not wait.
  func look() { turn.question() }

  /// Applies new minimum times of the supply from now on.
  func changeTiming(to timing: LifecycleTiming) { source.changeTiming(to: MotionWatch.timing(timing)) }

  /// The timing without an idle timeout.
  private static func timing(_ timing: LifecycleTiming) -> LifecycleTiming {
    LifecycleTiming(minimumOn: timing.minimumOn, minimumOff: timing.minimumOff)
  }

  var activity: Property<Activity> { source.activity }

  var isActive: Bool { source.activity.value.phase.isAtWork }

  func shutDown(because reason: String) {
    stillness.shutDown(because: reason)
    source.shutDown(because: reason)
  }

  /// Returns once the supply is not needed any more.
  func isOff() async {
    for await now in source.activity.values(as: "shutdown") where !now.phase.isAtWork { break }
  }
}

extension Activity.Phase {
  fileprivate var isAtWork: Bool { self != .idle && self != .failed }
}
