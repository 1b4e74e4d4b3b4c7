import CLinux
import Guarding
import MonotonicTime
import Publishing
import TestSupport

enum Fault: Error, Equatable { case broken, again }

/// A source that the test controls. It runs on the publisher's thread.
final class Bench: Sendable {
  enum Command: Sendable { case send(Int), fail(Fault), end }

  /// The states of a power line that the source switches.
  let power = Recorder<Bool>()
  let clock = ManualClock()
  private let commands = Guarded<[Command]>([])
  private let ordered = WakeSignal()

  var isOn: Bool { power.values.last ?? false }

  func publisher(
    _ timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    idleTimeoutPolicy: (any IdleTimeoutPolicy)? = nil
  ) -> LazyPublisher<Int, Fault> {
    LazyPublisher(
      "bench", timing: timing, replaysLatest: replaysLatest, clock: clock, idleTimeoutPolicy: idleTimeoutPolicy
    ) { (run) throws(Fault) in
      self.power.append(true)
      defer { self.power.append(false) }
      run.started()
      while !run.stop.isSet {
        switch self.next(run.stop) {
        case .send(let value): run.send(value)
        case .fail(let fault): throw fault
        case .end: return
        case nil: break
        }
      }
    }
  }

  func order(_ command: Command) {
    commands.withLock { $0.append(command) }
    ordered.raise()
  }

  private func next(_ stop: StopSignal) -> Command? {
    while !stop.isSet {
      if let command = commands.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return command }
      if clinux_wait_readable_either(stop.fileDescriptor, ordered.fileDescriptor) { ordered.clear() }
    }
    return nil
  }
}

/// A subscriber that records every event.
final class Listener: Sendable {
  enum Event: Equatable, Sendable { case subscription, value(Int), finished, failed(Fault) }

  let events = Recorder<Event>()

  func subscribe(to publisher: some Publisher<Int, Fault>, as holder: Holder = "listener") -> Subscription {
    publisher.subscribe(
      as: holder, receiveSubscription: { _ in self.events.append(.subscription) },
      receiveValue: { self.events.append(.value($0)) },
      receiveCompletion: { completion in
        switch completion {
        case .finished: self.events.append(.finished)
        case .failed(let fault): self.events.append(.failed(fault))
        }
      })
  }

  func subscribe(to publisher: some Publisher<Int, Never>) -> Subscription {
    publisher.subscribe(
      as: "listener", receiveValue: { self.events.append(.value($0)) },
      receiveCompletion: { _ in self.events.append(.finished) })
  }

  var values: [Int] {
    events.values.compactMap { if case .value(let value) = $0 { value } else { nil } }
  }

  func values(_ count: Int) async -> [Int] {
    _ = await events.values { $0.count { if case .value = $0 { true } else { false } } >= count }
    return values
  }
}
