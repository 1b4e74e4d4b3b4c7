import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// A notice for the hooks that the board is about to shut down or sleep, or that it stays on or is awake again.
struct BoardShutdownNotice: Sendable {
  var event = HookEvent.shutdown
  /// Whether the board is about to shut down or sleep; `false` if it stays on after all, or has woken.
  var isBegin: Bool
  /// The device that the notice is about: the supply monitor of the battery, or `board` for a sleep.
  var device: String
  var text: String
  /// Call this once all hooks were told, or if there are none.
  var told = Callback {}
}

/// Watches the board's battery, and shuts the board down before the battery is damaged.
///
/// The hub first tells the hooks that the board is about to shut down, and gives them `patience` to react. Then it asks
/// logind to switch the machine off. Once logind has agreed, the hub drives all lines low, before systemd stops the
/// service. If logind refuses, the hub continues, and tries again later.
public final class BatteryOutput: Service {
  /// How long hooks may take before the board shuts down.
  static let patience = Duration.seconds(10)

  private struct State {
    /// Whether a shutdown is under way.
    var isBusy = false
    var isOver = false
    /// The last refusal that was logged.
    var said: String?
  }

  private let host: HubHost
  private let sink: JournalSink
  private let shutdown: any BoardShutdown
  private let alarm: Alarm
  private let state = Guarded(State())

  /// - Parameter shutdown: shuts the machine down
  public init(host: HubHost, sink: JournalSink, shutdown: any BoardShutdown = LogindShutdown()) {
    self.host = host
    self.sink = sink
    self.shutdown = shutdown
    alarm = Alarm(clock: host.hub.machine.clock)
  }

  public func run() async throws {
    let events = begin()
    await untilShutdown()
    events.cancel()
  }

  /// Watches the battery while the subscription lasts.
  func begin() -> Subscription {
    let battery = host.hub.battery
    let events = battery.events.subscribe(as: "battery", receiveValue: { [weak self] in self?.receive($0) })
    battery.begin(on: host.hub)
    return Subscription { [weak self] in
      self?.end()
      events.cancel()
      battery.end()
    }
  }

  private func end() {
    state.withLock { $0.isOver = true }
    alarm.end()
  }

  private func receive(_ event: BatteryMonitor.Event) {
    switch event {
    case .shutDown(let reason, let monitor, let isReal): begin(reason, monitor, isReal)
    case .staysOn(let monitor):
      let wasRefused = state.withLock { state in
        defer { state.said = nil }
        return state.said != nil
      }
      let text = "the battery is no longer empty: the board is on"
      if wasRefused { write(.notice, text, monitor) }
      host.shutdownNotices.send(BoardShutdownNotice(isBegin: false, device: monitor, text: text))
    }
  }

  /// Tells the hooks. The shutdown follows once they have reacted, or after `patience`.
  private func begin(_ reason: String, _ monitor: String, _ isReal: Bool) {
    let isFree = state.withLock { state in
      defer { state.isBusy = true }
      return !state.isBusy && !state.isOver
    }
    guard isFree else { return }
    let isRepeated = state.withLock { $0.said != nil }
    if !isRepeated {
      let seconds = Text.fixed(BatteryOutput.patience.inSeconds, 0)
      write(.error, "\(reason): the board shuts down after its hooks, within \(seconds) s", monitor)
    }
    let isDone = Guarded(false)
    let proceed = Callback { [weak self] in
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      if isFirst { self?.proceed(monitor, isReal) }
    }
    alarm.set(at: host.now + BatteryOutput.patience) { proceed() }
    guard !isRepeated, host.shutdownNotices.hasSubscribers else { return proceed() }
    host.shutdownNotices.send(
      BoardShutdownNotice(isBegin: true, device: monitor, text: "\(reason): the board shuts down", told: proceed))
  }

  private func proceed(_ monitor: String, _ isReal: Bool) {
    alarm.cancel()
    // logind may take seconds to answer.
    let error = DetachedThread.start("battery") { [self] in shutDown(monitor, isReal) }
    if error != 0 { refused(ShutdownRefusal(reason: "cannot start a thread for it"), monitor) }
  }

  private func shutDown(_ monitor: String, _ isReal: Bool) {
    let battery = host.hub.battery
    guard !state.withLock({ $0.isOver }) else { return }
    guard battery.mustShutDown else {
      // The battery is being charged, or has recovered. The next shutdown is announced like the first one.
      state.withLock { $0.isBusy = false }
      write(.notice, "the battery is being charged: the board stays on", monitor)
      return battery.shutDownRefused(because: "the battery is being charged")
    }
    if let refusal = shutdown.powerOff(isReal: isReal) { return refused(refusal, monitor) }
    host.shutDownWithMachine()
    write(.error, "the board is shutting down; all power lines are switched off", monitor)
  }

  private func refused(_ refusal: ShutdownRefusal, _ monitor: String) {
    let isNew = state.withLock { state in
      defer { state.said = refusal.reason }
      state.isBusy = false
      return state.said != refusal.reason
    }
    if isNew { write(.error, "the board stays on: \(refusal)", monitor) }
    host.hub.battery.shutDownRefused(because: refusal.description)
  }

  private func write(_ priority: JournalSink.Priority, _ text: String, _ monitor: String) {
    sink.write(
      priority, "\(monitor): \(text)",
      fields: [.init("SENSORHUB_EVENT", "battery"), .init("SENSORHUB_DEVICE", monitor)])
  }
}
