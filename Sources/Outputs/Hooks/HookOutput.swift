import CLinux
import Glibc
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing
import ServiceLifecycle

/// Runs the hooks of the board file. It watches fences and devices, and tells each hook once when trouble begins and
/// once when it ends.
///
/// It checks the devices when one of them changes, and when a trouble has lasted, or has been absent, for long enough.
/// On a board without hooks it checks no device.
public final class HookOutput: Service {
  private struct State {
    var hooks: [HookDelivery] = []
    var alarms = HookAlarms()
    var board = ""
    var mark: String?
    var count = 0
    /// The names of the present fences.
    var fences: Set<String> = []
    /// Whether the memory of earlier runs was read.
    var isLoaded = false

    /// Forgets the troubles of fences that were removed while no hub ran. An empty list of fences changes nothing,
    /// because it may mean that the fences are not known yet.
    mutating func keepPresentFences() {
      let fences = fences
      if !fences.isEmpty { alarms.keep { !$0.isOfFence || fences.contains($0.subject) } }
    }
  }

  /// When the hub ends, running deliveries have this time to finish. The hub then kills their programs, and waits as
  /// long again. The time is short, because the hub must also switch the devices off.
  private static let farewell = Duration.milliseconds(400)
  /// The delay from a change to the check. Changes come in groups, and one check serves the group.
  private static let delay = Duration.milliseconds(50)

  private let host: HubHost
  private let sink: JournalSink
  private let memory: HookMemory?
  private let isRoot: Bool
  private let present = Guarded<Lifetime?>(nil)
  private let state = Guarded(State())
  /// Identifies this run. Notices are numbered from the start in each run.
  private let run = String(UInt64.random(in: .min ... .max), radix: 36)

  /// - Parameters:
  ///   - memory: the state of earlier runs
  ///   - isRoot: whether the hub runs as root; then hooks may not run programs
  public init(host: HubHost, sink: JournalSink, memory: HookMemory? = nil, isRoot: Bool = geteuid() == 0) {
    self.host = host
    self.sink = sink
    self.memory = memory
    self.isRoot = isRoot
  }

  public func run() async throws {
    let events = host.fenceEvents.subscribe(as: "hooks", receiveValue: { [weak self] in self?.heard($0) })
    let fences = host.fences.changes.subscribe(
      as: "hooks", receiveValue: { [weak self] in self?.forgetFences(but: $0) })
    let boards = host.hub.registry.subscribe(as: "hooks", receiveValue: { [weak self] _ in self?.follow() })
    let shutdowns = host.shutdownNotices.subscribe(as: "hooks", receiveValue: { [weak self] in self?.heard($0) })
    await untilShutdown()
    shutdowns.cancel()
    boards.cancel()
    fences.cancel()
    events.cancel()
    replace(with: nil)
    let hooks = state.withLock { $0.hooks }
    for hook in hooks { hook.end() }
    await HookOutput.wait(for: hooks)
    for hook in hooks { hook.interrupt() }
    // The programs that still run end with the hub, so wait until they are killed.
    await HookOutput.wait(for: hooks)
    if !hooks.isEmpty { memory?.keep { content } }
  }

  private static func wait(for hooks: [HookDelivery]) async {
    let (end, signal) = AsyncStream.makeStream(of: Void.self)
    let clock = MonotonicClock()
    let timer = clock.schedule(at: clock.now + farewell) { signal.finish() }
    let counter = Countdown(left: hooks.count) { signal.finish() }
    for hook in hooks { hook.whenIdle { counter.one() } }
    if hooks.isEmpty { signal.finish() }
    for await _ in end {}
    timer.cancel()
  }

  private final class Countdown: Sendable {
    private let left: Guarded<Int>
    private let whenOver: @Sendable () -> Void

    init(left: Int, whenOver: @escaping @Sendable () -> Void) {
      self.left = Guarded(left)
      self.whenOver = whenOver
    }

    func one() {
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { whenOver() }
    }
  }

  // MARK: The board in service

  private func follow() {
    let hub = host.hub
    let wanted = hub.board.hooks.filter { hook in
      guard isRoot, let program = hook.program else { return true }
      sink.write(
        .error,
        "hook \(hook.key): \(program) does not run, because the hub runs as root, and a board file must not start programs as root; start the hub as a "
          + "service: sudo systemctl start sensorhub")
      return false
    }
    // The memory is read outside the lock, because fixes wait for the lock.
    let isFirst = state.withLock { state in
      defer { state.isLoaded = state.isLoaded || !wanted.isEmpty }
      return !state.isLoaded && !wanted.isEmpty
    }
    let kept = isFirst ? memory?.content : nil
    let surroundings = HookDelivery.Surroundings(
      sink: sink, clock: hub.machine.clock, link: { [weak host] in host?.fleetLink.withLock { $0 } },
      changed: { [weak self] in self?.keepSoon() })
    let (gone, all) = state.withLock { state -> ([HookDelivery], [HookDelivery]) in
      if let kept { state.alarms = HookAlarms(raised: Set(kept.raised.compactMap(\.value))) }
      if kept != nil { state.keepPresentFences() }
      state.board = hub.board.name
      state.mark = hub.origin.mark
      let devices = Set(hub.board.devices.map(\.id))
      state.alarms.keep { $0.isOfFence || $0.event == .sleep || devices.contains($0.subject) }
      let old = state.hooks
      state.hooks = zip(wanted, HookSuccession.predecessors(of: wanted, among: old.map(\.settings))).map {
        (settings, index) in
        if let index {
          old[index].follow(settings)
          return old[index]
        }
        return HookDelivery(settings, waiting: kept?.waiting[settings.key]?.value ?? [], surroundings)
      }
      let hooks = state.hooks
      return (old.filter { one in !hooks.contains { $0 === one } }, hooks)
    }
    for hook in gone {
      hook.end()
      hook.interrupt()
    }
    watch(hub.monitors, all.isEmpty)
    // The first hook may be added long after the last events of the fences, so look at their present status.
    if isFirst { for fence in host.fences.changes.value { heard(fence) } }
    for hook in all { hook.go() }
    if !gone.isEmpty { keepSoon() }
  }

  private func watch(_ monitors: [DeviceMonitor], _ isNothing: Bool) {
    guard !isNothing else { return replace(with: nil) }
    let clock = host.hub.machine.clock
    let lifetime = Lifetime()
    let alarm = Alarm(clock: clock)
    let look = Coalesced(HookOutput.delay, clock: clock) { [weak self] in self?.look(at: monitors, alarm) }
    Subscription {
      look.end()
      alarm.end()
    }.store(in: lifetime)
    for monitor in monitors {
      monitor.changes.subscribe(as: "hooks", receiveValue: { _ in look.request() }).store(in: lifetime)
    }
    replace(with: lifetime)
  }

  private func replace(with new: Lifetime?) {
    present.withLock { present in
      defer { present = new }
      return present
    }?.end()
  }

  // MARK: Events

  /// Checks the devices. Runs on the timer's thread.
  private func look(at monitors: [DeviceMonitor], _ alarm: Alarm) {
    let look = HookAlarms.Look(monitors)
    let now = host.now
    let (changes, next) = state.withLock { $0.alarms.look(look, at: now) }
    for change in changes {
      let event = change.key.event
      tell(event, event.change(isRaised: change.trouble != nil), change.key.subject) { notice in
        guard let trouble = change.trouble else { return }
        notice.message = "\(change.key.subject): \(trouble.text)"
        notice.nextStep = trouble.nextStep
      }
    }
    if let next { alarm.set(at: next) { [weak self] in self?.look(at: monitors, alarm) } }
  }

  /// Handles the status of a fence. Runs on the thread that delivers the fix.
  private func heard(_ status: FenceStatus) {
    guard let event = status.event else { return }
    // Once there has been a hook, events are processed even while there is none. Otherwise a trouble that ends in that
    // time would stay marked as reported, and a later hook would not be told when it begins again.
    let changes = state.withLock { $0.isLoaded ? $0.alarms.look(at: status) : [] }
    for change in changes {
      tell(change.event, change.event.change(isRaised: change.isRaised), status.name) { notice in
        notice.message = FenceOutput.text(event, status)
        guard let fix = status.fix else { return }
        notice.place = HookNotice.Position(
          latitudeDegrees: fix.place.latitudeDegrees, longitudeDegrees: fix.place.longitudeDegrees,
          sigmaMetres: fix.sigmaMetres)
        notice.metresBeyond = status.metresBeyond
      }
    }
  }

  /// Handles a notice about a shutdown or a sleep of the board. Calls back once each hook has tried to deliver it.
  private func heard(_ notice: BoardShutdownNotice) {
    let mustTell = state.withLock { $0.isLoaded && $0.alarms.mark(notice.event, notice.isBegin, of: notice.device) }
    guard mustTell else { return notice.told() }
    let (id, hooks) = tell(notice.event, notice.event.change(isRaised: notice.isBegin), notice.device) {
      $0.message = notice.text
    }
    let counter = Countdown(left: hooks.count) { notice.told() }
    if hooks.isEmpty { notice.told() }
    for hook in hooks { hook.whenTried(id) { counter.one() } }
  }

  /// Forgets the troubles of removed fences. A removed fence has no trouble any more, and a later fence of the same
  /// name is a different one.
  private func forgetFences(but present: [FenceStatus]) {
    let names = Set(present.map(\.name))
    let isNews = state.withLock { state in
      let gone = state.fences.subtracting(names)
      let before = state.alarms.raised
      state.fences = names
      if !gone.isEmpty { state.alarms.keep { !$0.isOfFence || !gone.contains($0.subject) } }
      state.keepPresentFences()
      return state.alarms.raised != before
    }
    if isNews { keepSoon() }
  }

  /// - Returns: the ID of the notice, and the hooks that deliver it
  @discardableResult
  private func tell(
    _ event: HookEvent, _ change: HookNotice.Change, _ subject: String, _ detail: (inout HookNotice) -> Void
  ) -> (id: String, hooks: [HookDelivery]) {
    let (notice, hooks) = state.withLock { state in
      state.count += 1
      var notice = HookNotice(
        id: "\(run)-\(state.count)", event: event, change: change, subject: subject, message: "", hub: state.board,
        mark: state.mark, nanosecondsSince1970: clinux_realtime_ns())
      notice.message = notice.title
      detail(&notice)
      return (notice, state.hooks)
    }
    for hook in hooks { hook.add(notice) }
    keepSoon()
    return (notice.id, hooks)
  }

  // MARK: For the next run

  private var content: HookMemory.Content {
    state.withLock { state in
      var content = HookMemory.Content()
      for hook in state.hooks {
        let waiting = hook.waiting
        if !waiting.isEmpty { content.waiting[hook.key] = StateEntry(waiting) }
      }
      content.raised = state.alarms.raised.sorted().map { StateEntry($0) }
      return content
    }
  }

  private func keepSoon() {
    memory?.keepSoon { [weak self] in
      guard let self, state.withLock({ $0.isLoaded }) else { return nil }
      return content
    }
  }
}
