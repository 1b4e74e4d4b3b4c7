import Guarding

/// Receives the recorded messages of a device from one period in which its supply was on.
protocol ReplayRun<Message>: AnyObject, Sendable {
  associatedtype Message
  func take(_ message: Message)
  func end()
}

/// Starts a ``ReplayRun`` each time the supply of the recorded device came on, and ends it when the supply went off.
final class ReplayScope<Message>: Sendable {
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
    monitor.woke()
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
