import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

extension DeviceReader {
  /// A reader of what a recording says in place of the device.
  ///
  /// - Parameters:
  ///   - begin: called whenever the device was supplied; returns what takes what it said, until it was not any more
  convenience init<Message>(
    replaying id: String, _ kind: DeviceStatus.Kind, title: String, power: Board.Power, replaysLatest: Bool = false,
    from port: ReplayPort<Message>, on machine: Machine,
    begin: @escaping @Sendable (DeviceMonitor, Activating<Sample, HardwareError>) -> any ReplayRun<Message>
  ) {
    let rail = machine.rail(of: .none)
    // At rest nothing is known of what it drew.
    var power = power
    power.standbyMilliamperes = 0
    let monitor = DeviceMonitor(id: id, kind: kind, title: title, power: power, rail: rail, clock: machine.clock)
    let source = LazyPublisher<Sample, HardwareError>(
      deriving: id, replaysLatest: replaysLatest, clock: machine.clock
    ) { (run) throws(HardwareError) in
      let scope = ReplayScope(monitor) { begin(monitor, run) }
      if port.isSupplied { scope.begin() }
      let events = port.events.subscribe(
        as: id,
        receiveValue: { event in
          switch event {
          case .began: scope.begin()
          case .message(let message): scope.take(message)
          case .ended: scope.end()
          }
        })
      return Subscription {
        events.cancel()
        scope.end()
      }
    }
    self.init(source, monitor, rail, replaysLatest: replaysLatest, on: machine)
  }
}

/// What takes the messages of a recorded device for as long as that was supplied.
protocol ReplayRun<Message>: AnyObject, Sendable {
  associatedtype Message
  func take(_ message: Message)
  func end()
}

/// The time for which a recorded device was supplied, over and over.
private final class ReplayScope<Message>: Sendable {
  private struct Beginning: Sendable { let run: @Sendable () -> any ReplayRun<Message> }

  private let monitor: DeviceMonitor
  private let beginning: Beginning
  private let present = Guarded<(any ReplayRun<Message>)?>(nil)

  init(_ monitor: DeviceMonitor, _ begin: @escaping @Sendable () -> any ReplayRun<Message>) {
    self.monitor = monitor
    beginning = Beginning(run: begin)
  }

  func begin() {
    guard present.withLock({ $0 == nil }) else { return }
    monitor.required()
    monitor.acquiring()
    let run = beginning.run()
    present.withLock { $0 = run }
  }

  func take(_ message: Message) {
    begin()
    present.withLock { $0 }?.take(message)
  }

  func end() {
    let run = present.withLock { present in
      defer { present = nil }
      return present
    }
    guard let run else { return }
    run.end()
    monitor.released()
  }
}

/// Hands on what was recorded as it is.
final class ReplayedSamples<Sample: Sendable>: ReplayRun {
  private let monitor: DeviceMonitor
  private let run: Activating<Sample, HardwareError>
  private let count: @Sendable (Sample) -> Void
  private let port: ReplayPort<Sample>

  /// - Parameter count: told of each sample
  init(
    _ monitor: DeviceMonitor, _ run: Activating<Sample, HardwareError>, from port: ReplayPort<Sample>,
    counting count: @escaping @Sendable (Sample) -> Void
  ) {
    self.monitor = monitor
    self.run = run
    self.count = count
    self.port = port
  }

  func take(_ sample: Sample) {
    count(sample)
    monitor.tracking()
    if port.isHeld { run.send(sample) }
  }

  func end() {}
}

extension DeviceReader {
  /// A reader of recorded samples, whatever they are of.
  convenience init(
    replaying description: DeviceDescription, _ kind: DeviceStatus.Kind, from port: ReplayPort<Sample>,
    on machine: Machine
  ) {
    let count = Guarded(0)
    self.init(
      replaying: description.id, kind, title: "recorded \(kind.rawValue)", power: description.power, from: port,
      on: machine
    ) { monitor, run in
      ReplayedSamples(monitor, run, from: port) { sample in count.withLock { $0 += (sample as? IMUBatch)?.count ?? 1 } }
    }
    monitor.count { [.init("samples", count.withLock { $0 })] }
  }
}

extension DeviceReader where Sample == GNSSObservation {
  /// A reader of recorded sentences, which go the way that those of a receiver go.
  convenience init(
    replaying description: ReceiverDescription, _ port: ReplayPort<ReceivedSentences>,
    counted: ReceiverCounters, tap: SentenceTap, on machine: Machine
  ) {
    self.init(
      replaying: description.id, .receiver, title: "recorded GPS", power: description.power, replaysLatest: true,
      from: port, on: machine
    ) { monitor, run in
      ReplayedReceiver(monitor, run, from: port, counted: counted, tap: tap, on: machine)
    }
  }
}

/// Decodes what a receiver was recorded to send.
private final class ReplayedReceiver: ReplayRun {
  private struct State: ~Copyable, Sendable {
    var decoder = NMEADecoder()
    var run: ReceiverRun
    var silence: ScheduledAction?
  }

  private let output: Activating<GNSSObservation, HardwareError>
  private let port: ReplayPort<ReceivedSentences>
  private let machine: Machine
  private let counted: ReceiverCounters
  private let before: NMEADecoder.Counters
  private let tap: SentenceTap
  /// Only ever waited for by the one thread that plays.
  private let state: Guarded<State>

  init(
    _ monitor: DeviceMonitor, _ output: Activating<GNSSObservation, HardwareError>,
    from port: ReplayPort<ReceivedSentences>, counted: ReceiverCounters, tap: SentenceTap, on machine: Machine
  ) {
    self.output = output
    self.port = port
    self.machine = machine
    self.counted = counted
    before = counted.present
    self.tap = tap
    state = Guarded(State(run: ReceiverRun(suppliedAt: machine.clock.now, on: machine, monitor)))
  }

  func take(_ sentences: ReceivedSentences) {
    let observations = state.withLock { state in
      state.silence?.cancel()
      var observations: [GNSSObservation] = []
      sentences.bytes.withUnsafeBufferPointer { bytes in
        // As it was read: the beginning of the first some time before the rest.
        let first = UnsafeBufferPointer(rebasing: bytes.prefix(1))
        state.decoder.take(first, readAt: sentences.beganAt) { observations.append(copy $0) }
        let rest = UnsafeBufferPointer(rebasing: bytes.dropFirst())
        state.decoder.take(rest, readAt: sentences.readAt) { observations.append(copy $0) }
      }
      finish(&state)
      return observations.map { state.run.take($0) }
    }
    guard port.isHeld else { return }
    for observation in observations { output.send(observation) }
    tap.forward()?(sentences)
  }

  private func endEpoch() {
    let observations = state.withLock { state in
      var observations: [GNSSObservation] = []
      state.decoder.endEpoch { observations.append(copy $0) }
      finish(&state)
      return observations.map { state.run.take($0) }
    }
    guard port.isHeld else { return }
    for observation in observations { output.send(observation) }
  }

  private func finish(_ state: inout State) {
    counted.present = before + state.decoder.counters
    state.run.look()
    state.silence = state.decoder.silenceThatEnds.map { silence in
      machine.clock.schedule(at: machine.clock.now + silence) { [weak self] in self?.endEpoch() }
    }
  }

  func end() { state.withLock { $0.silence?.cancel() } }
}
