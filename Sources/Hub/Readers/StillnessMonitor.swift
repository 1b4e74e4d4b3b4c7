import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Detects motion of the board while it has observers. An inertial sensor waits for motion with a current of
/// microamperes, and a thread sleeps until the sensor's line changes. While the chip has subscribers, its samples show
/// motion.
///
/// The supply stays on. After a motion the chip reports nothing more until it is read, so a board that moves all day
/// does not wake the processor all day.
final class StillnessMonitor: Sendable {
  /// A report of the thread that makes the chip wait for motion.
  private enum Report {
    case motion(MotionState)
    /// The chip's reader takes the chip over.
    case lent
  }

  /// The state of motion. A new subscriber first gets the present one.
  let stillness: LazyPublisher<MotionState, Never>
  private let source: LazyPublisher<Report, HardwareError>
  private let arbiter: ChipArbiter
  private let rail: PowerRail
  private let cuts: SupplyCuts

  /// The name under which the monitor of a device requires the device's supply.
  static func railUser(of id: String) -> String { "\(id) motion" }

  private static func warning(of error: HardwareError) -> String {
    "it cannot wait for motion, so fixes come as scheduled: \(error)"
  }

  /// `nil` if the chip cannot wait for motion, or its line is not wired.
  ///
  /// - Parameters:
  ///   - arbiter: arbitrates the use of the chip
  ///   - readings: the chip's samples while it works for other subscribers, and during its idle timeout
  init?(
    _ description: IMUDescription, _ arbiter: ChipArbiter, _ readings: LazyPublisher<IMUBatch, HardwareError>,
    _ monitor: DeviceMonitor, _ rail: PowerRail, on machine: Machine
  ) {
    guard let chip = WakeOnMotionChip(description, on: machine) else { return nil }
    let (power, clock, hint) = (description.power, machine.clock, machine.retryHint.signal(for: description.id))
    let name = StillnessMonitor.railUser(of: description.id)
    let cuts = SupplyCuts()
    let source = LazyPublisher<Report, HardwareError>(
      name, timing: StillnessMonitor.timing(power.timing), clock: clock,
      lacking: { .system("starting to wait for motion", errno: $0) },
      reading: { (context) throws(HardwareError) in
        let progress = ReaderProgress()
        let poller = Poller(stop: context.stop.fileDescriptor, progress: progress)
        let watch = machine.supervisor.watch(progress, patience: .seconds(2)) {
          cuts.add()
          rail.cut(for: name)
          let hang = HardwareError.stuck("the motion monitor of \(description.id)")
          // The thread hangs, so it cannot withdraw its last report itself.
          monitor.waitsForMotion(milliamperes: nil)
          monitor.setWarning(about: .motion, StillnessMonitor.warning(of: hang))
          context.send(.motion(.unknown))
          context.hangs(hang)
        }
        defer { watch.cancel() }
        let resuming = clock.onResume { _ in context.interrupts(.suspended) }
        defer { resuming.end() }
        guard monitor.waitsForGate(poller) else { return }
        let timing = monitor.timing
        guard let since = try rail.require(for: name, after: timing.minimumOff, atLeast: timing.minimumOn, poller)
        else {
          // As in `DeviceReader`: a supply that was cut is a failure.
          if !context.stop.isSet { throw .stuck("the power line of \(name)") }
          return
        }
        let cutCount = cuts.count
        // A supply that was cut does not belong to this run any more. It may be on for the device of another board file.
        defer { if cuts.count == cutCount { rail.release(for: name) } }
        context.switchedOn()
        let unsettled = power.settleTime - (clock.now - since)
        if unsettled > .zero, poller.wait(for: nil, atMost: unsettled) == .stopped { return }
        context.started()
        while true {
          if arbiter.beginWatch() {
            defer { arbiter.endWatch() }
            do throws(HardwareError) {
              // After the watch, the state of motion is unknown, unless the chip's reader takes over.
              var last = Report.motion(.unknown)
              defer {
                monitor.waitsForMotion(milliamperes: nil)
                context.send(last)
              }
              let end = try chip.wait(poller, arbiter) { stillness in
                monitor.waitsForMotion(milliamperes: chip.milliamperes)
                monitor.setWarning(about: .motion, nil)
                context.send(.motion(stillness))
              }
              if end == .stopped { return }
              last = .lent
            } catch {
              monitor.setWarning(about: .motion, StillnessMonitor.warning(of: error))
              throw error
            }
          } else if poller.wait(for: arbiter.news.fileDescriptor) == .stopped {
            return
          } else {
            _ = arbiter.takeNews()
          }
        }
      })
    self.source = source
    self.arbiter = arbiter
    self.rail = rail
    self.cuts = cuts
    stillness = LazyPublisher(
      deriving: name, replaysLatest: true, clock: clock, holderObserver: MotionHolders(monitor: monitor)
    ) { (run) throws(Never) in
      let combined = CombinedStillness(run, clock)
      let samples = readings.observed.retrying(
        Backoff(initial: .milliseconds(250), maximum: .seconds(1)), hint: hint, clock: clock
      ).subscribe(as: run.holders, receiveValue: { batch in combined.update { $0.take(batch) } })
      let ends = arbiter.readingEnds.subscribe(
        as: run.holders,
        receiveValue: { end in combined.update { end == .failed ? $0.end() : $0.changesOver(at: clock.now) } })
      // The sensor may have been without supply during the suspension, and has then missed motion.
      let resuming = clock.onResume { _ in combined.update { $0.end() } }
      let waiting = source.retrying(
        { _ in Backoff(initial: .seconds(1), maximum: .seconds(60)) }, hint: hint, clock: clock
      ).subscribe(
        as: run.holders,
        receiveValue: { report in
          combined.update { machine in
            switch report {
            case .motion(let state): machine.take(state, at: clock.now)
            case .lent: machine.changesOver(at: clock.now)
            }
          }
        }, receiveCompletion: { run.finish($0) })
      return Subscription {
        waiting.cancel()
        resuming.end()
        ends.cancel()
        samples.cancel()
        combined.end()
      }
    }
  }

  /// Requests a reading of the chip, after which the chip reports the next motion. Observers call this after `moved`,
  /// and to make sure that the chip still waits. Returns at once.
  func look() { arbiter.question() }

  /// Applies new minimum times on and off of the chip's supply from now on.
  func changeTiming(to timing: LifecycleTiming) { source.changeTiming(to: StillnessMonitor.timing(timing)) }

  /// The timing without an idle timeout.
  private static func timing(_ timing: LifecycleTiming) -> LifecycleTiming {
    LifecycleTiming(minimumOn: timing.minimumOn, minimumOff: timing.minimumOff)
  }

  var activity: Property<SourceActivity> { source.activity }

  var isActive: Bool { !source.activity.value.isOver }

  /// Takes the supply from the monitor, because its thread hangs.
  func cutSupply() {
    cuts.add()
    rail.cut(for: source.name)
  }

  func shutDown(because reason: String) {
    stillness.shutDown(because: reason)
    source.shutDown(because: reason)
  }

  /// Returns once the supply is not needed any more.
  func isOff() async {
    for await now in source.activity.values(as: "shutdown") where now.isOver { break }
  }
}

/// Passes the decisions of a `StillnessMachine` on to the subscribers of one run.
private final class CombinedStillness: Sendable {
  private let run: ActivationContext<MotionState, Never>
  private let clock: any MonotonicTimeSource
  /// Fires at the deadline of a change between waiting and samples.
  private let alarm: Alarm
  private let machine = Guarded(StillnessMachine())

  init(_ run: ActivationContext<MotionState, Never>, _ clock: any MonotonicTimeSource) {
    self.run = run
    self.clock = clock
    alarm = Alarm(clock: clock)
  }

  /// Changes the machine, and sends the state that it returns.
  func update(_ change: (inout StillnessMachine) -> MotionState?) {
    let (mustDeliver, mustSetAlarm) = machine.withLock { machine in
      let deadline = machine.deadline
      let state = change(&machine)
      return (state.map { run.stage($0) } ?? false, machine.deadline != deadline)
    }
    if mustSetAlarm { setAlarm() }
    if mustDeliver { run.deliver() }
  }

  private func setAlarm() {
    alarm.set(asking: { machine.withLock { $0.deadline } }) { [weak self, clock] in
      self?.update { $0.look(at: clock.now) }
    }
  }

  func end() { alarm.end() }
}
