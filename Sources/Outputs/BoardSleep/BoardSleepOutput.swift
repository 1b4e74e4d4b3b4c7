import CLinux
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Puts the machine to sleep while nothing needs it, and continues after the sleep.
///
/// `BoardSleepPolicy` decides. This type checks the hub after each change, and at the instants that the policy names;
/// in between there is no timer. An attempt runs on its own thread, because the disk, the real-time clock and logind
/// may take seconds. It checks that the machine would sleep and wake, tells the journal and the hooks, and saves all
/// data. Then it sets the alarm and reads it back. Only then does it ask logind to suspend the machine or shut it down.
public final class BoardSleepOutput: Service {
  /// The surroundings that an attempt to sleep uses.
  public struct Surroundings: Sendable {
    /// Opens a real-time clock.
    var clock: @Sendable (String) -> any WakeClock
    /// Whether a receiver or a time server confirms the time.
    var isTimeConfirmed: @Sendable (Hub) -> Bool
    /// Whether all devices are real. This machine must not sleep for simulated ones.
    var isReal: @Sendable (Hub) -> Bool
    /// Saves data that is otherwise written later. Waits for the disk.
    var save: @Sendable () -> Void

    public init(
      clock: @escaping @Sendable (String) -> any WakeClock = { RealTimeClock($0) },
      isTimeConfirmed: @escaping @Sendable (Hub) -> Bool = { $0.isTimeConfirmed },
      isReal: @escaping @Sendable (Hub) -> Bool = { $0.origin == .real },
      save: @escaping @Sendable () -> Void = {}
    ) {
      self.clock = clock
      self.isTimeConfirmed = isTimeConfirmed
      self.isReal = isReal
      self.save = save
    }
  }

  struct State {
    var settings: BoardSleepSettings?
    var policy: BoardSleepPolicy?
    var memory = BoardSleepMemory()
    /// The section `sleep` of the present board file. It does not apply while the machine is about to sleep: the alarm,
    /// and the data for the time after the sleep, belong to the previous section.
    var wanted: BoardSleepSettings??
    /// The last problem that was logged.
    var said: String?
    /// Whether the hooks were told of a sleep.
    var hasTold = false
    /// The program that has told a power manager about the current attempt.
    var told: String?
    /// Keeps awake a receiver that confirms the time.
    var timeLease: Subscription?
    /// Whether fixes are due at multiples of their interval in UTC.
    var isScheduledInUTC = false
    /// A suspension that may still come although its attempt is over, because logind has agreed or has not answered.
    var late: BoardSleepMemory.Sleep?
    var isOver = false
  }

  /// The delay between a change and the next check of the hub. Changes come in groups, and one check serves the group.
  private static let delay = Duration.milliseconds(50)

  let host: HubHost
  let sink: JournalSink
  let power: any BoardPower
  let surroundings: Surroundings
  let file: BoardSleepFile?
  let state = Guarded(State())
  /// The alarm for the next check that the policy requests.
  private let alarm: Alarm
  /// The alarm that notices a machine that was not suspended.
  let suspendAlarm: Alarm
  /// The alarm that ends the wait for a receiver to confirm the time.
  private let timeAlarm: Alarm
  private let soon: Guarded<Coalesced?>
  /// Lets only one check run at a time, so that its result is applied before the next check begins.
  private let looking = Guarded(())
  /// Lets only one attempt run at a time, so that each undoes its steps before the next one begins.
  let attempting = Guarded(())
  /// Ends the command of the running attempt.
  let commandStop = Guarded<StopSignal?>(nil)
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - file: keeps the data for the time after a sleep; `nil` if nothing is kept
  public init(
    host: HubHost, sink: JournalSink, file: BoardSleepFile?, power: any BoardPower = LogindPower(),
    surroundings: Surroundings = Surroundings()
  ) {
    self.host = host
    self.sink = sink
    self.file = file
    self.power = power
    self.surroundings = surroundings
    let clock = host.hub.machine.clock
    alarm = Alarm(clock: clock)
    suspendAlarm = Alarm(clock: clock)
    timeAlarm = Alarm(clock: clock)
    soon = Guarded(nil)
    let look = Coalesced(BoardSleepOutput.delay, clock: clock) { [weak self] in self?.look() }
    soon.withLock { $0 = look }
  }

  public func run() async throws {
    let observing = observe()
    await untilShutdown()
    observing.cancel()
  }

  // MARK: The start

  /// Reads what the hub stored before the sleep, and continues the schedule of fixes. Call this before clients and
  /// requests begin. Waits for the disk and the real-time clock.
  public func begin() {
    var memory = file?.content ?? BoardSleepMemory()
    guard let settings = host.hub.board.sleep else {
      // A later board file may have the section again, so the totals are kept.
      memory.sleep = nil
      let kept = memory
      return state.withLock { $0.memory = kept }
    }
    var wake: BoardWake?
    var isCertain = false
    if let sleep = memory.sleep {
      let system = host.hub.machine.systemTime()
      isCertain = isTimeCertain(settings, memory, system)
      if isCertain {
        wake = memory.wake(at: system)
        let seconds = Double(system - sleep.beganAt) / 1e9
        if sleep.way == .poweroff, (0...400 * 86_400).contains(seconds) { host.hub.wasSwitchedOff(secondsAgo: seconds) }
      } else {
        memory.sleep = nil
        memory.sleepCount += 1
        let holder = sleep.holder.map { ", which should wake for \($0)," } ?? ""
        write(.warning, "the board is awake: how long it slept\(holder) is unknown, because its clock is not confirmed")
      }
      file?.keep(memory)
      // If something else woke the board, the alarm is still set, and would later start a board that a person has
      // switched off.
      if wake?.isByAlarm != true { clearAlarm(settings) }
    }
    if settings.way == .poweroff, isCertain || isTimeCertain(settings, memory, host.hub.machine.systemTime()) {
      host.hub.takeUpSchedule(secondsUntilDue: wake.flatMap { $0.isByAlarm ? $0.secondsUntilDue : nil })
      state.withLock { $0.isScheduledInUTC = true }
    }
    if wake?.isByAlarm == true { host.hub.battery.wasWokenByAlarm() }
    if let wake { write(wake.isByAlarm ? .notice : .warning, "\(wake)") }
    let now = host.now
    let kept = memory
    state.withLock { state in
      state.memory = kept
      state.settings = settings
      state.policy = BoardSleepPolicy(settings, wasWoken: wake?.isByAlarm ?? false, at: now)
      // The previous run may have told the hooks of a sleep. Telling them of its end is always safe, because they
      // ignore an end if they were told of no sleep.
      state.hasTold = true
    }
  }

  /// Whether the time is confirmed, or the real-time clock has carried it over a sleep.
  func isTimeCertain(_ settings: BoardSleepSettings, _ memory: BoardSleepMemory, _ system: Int64) -> Bool {
    if surroundings.isTimeConfirmed(host.hub) { return true }
    guard let rtc = settings.rtc, let trust = memory.trust, let now = try? surroundings.clock(rtc).now() else {
      return false
    }
    return trust.holds(system: system, clock: now)
  }

  /// How long a receiver may take to confirm the time.
  static let timePatience = Duration.seconds(120)

  /// Keeps a receiver awake until it has confirmed the time. Scheduled fixes alone may be too short for that.
  ///
  /// - Returns: whether the board has a receiver
  func awaitTime() -> Bool {
    endTimeLease()
    let lease = host.hub.awaitTime { [weak self] in self?.epochCame() }
    guard let lease else { return false }
    let isOver = state.withLock { state in
      if !state.isOver { state.timeLease = lease }
      return state.isOver
    }
    if isOver {
      lease.cancel()
    } else {
      timeAlarm.set(at: host.now + BoardSleepOutput.timePatience) { [weak self] in self?.endTimeLease() }
    }
    return true
  }

  private func epochCame() {
    guard surroundings.isTimeConfirmed(host.hub) else { return }
    state.withLock { $0.policy?.refusalEnded() }
    endTimeLease()
    lookSoon()
  }

  private func endTimeLease() {
    timeAlarm.cancel()
    let lease = state.withLock { state in
      defer { state.timeLease = nil }
      return state.timeLease
    }
    lease?.cancel()
  }

  /// Watches the hub while the subscription lasts.
  func observe() -> Subscription {
    let boards = host.hub.registry.subscribe(as: "board sleep", receiveValue: { [weak self] in self?.follow($0.board) })
    let changes = host.hub.observeBoardSituation { [weak self] in self?.lookSoon() }
    let clients = host.traffic.kinds.map { kind in
      kind.clientCounts.subscribe(as: "board sleep", receiveValue: { [weak self] _ in self?.lookSoon() })
    }
    let resumes = host.hub.machine.clock.onResume { [weak self] in self?.resumed(after: $0) }
    if let told = state.withLock({ $0.hasTold ? $0.settings : nil }) { tellAwake(told) }
    lookSoon()
    return Subscription { [weak self] in
      resumes.end()
      boards.cancel()
      changes.cancel()
      for client in clients { client.cancel() }
      self?.end()
    }
  }

  private func end() {
    let staysOn = host.machineStaysOn
    state.withLock { state in
      state.isOver = true
      // The machine was not switched off, so the next run of the hub must not report a sleep.
      if staysOn { state.memory.sleep = nil }
    }
    if staysOn { keep() }
    commandStop.withLock { $0 }?.set()
    soon.withLock { $0 }?.end()
    alarm.end()
    suspendAlarm.end()
    timeAlarm.end()
    endTimeLease()
  }

  private func follow(_ board: Board) {
    let now = host.now
    let isWithout = state.withLock { state in
      state.wanted = .some(board.sleep)
      state.followWanted(at: now)
      return state.settings == nil
    }
    if isWithout, host.latestBoardSleep.value != nil { host.latestBoardSleep.value = nil }
    lookSoon()
  }

  /// Takes over a board file that came while the machine was about to sleep.
  func followWanted() {
    let now = host.now
    state.withLock { $0.followWanted(at: now) }
    lookSoon()
  }

  // MARK: Looking

  private func lookSoon() {
    if state.withLock({ $0.settings != nil }) { soon.withLock { $0 }?.request() }
  }

  /// Gives the policy the current needs of the machine, and acts on its decision.
  func look() {
    scheduleInUTC()
    let effects = looking.withLock { _ -> [BoardSleepPolicy.Effect] in
      // A hub that ends has no fixes, which is no reason to sleep.
      guard !host.isEnding, let settings = state.withLock({ $0.isOver ? nil : $0.settings }) else { return [] }
      var situation = host.hub.boardSituation
      situation.needs += clients(settings)
      let now = host.now
      let (effects, report) = state.withLock { state -> ([BoardSleepPolicy.Effect], BoardSleepReport?) in
        let lead = state.memory.wakeTimes.lead(settings.way)
        let effects = state.policy?.look(situation, wakeTime: .nanoseconds(Int64(lead * 1e9)), at: now) ?? []
        return (effects, state.report(situation, lead))
      }
      if host.latestBoardSleep.value != report { host.latestBoardSleep.value = report }
      return effects
    }
    act(on: effects)
    setAlarm()
  }

  /// Makes fixes due at multiples of their interval in UTC once the time is known. The next run of the hub expects
  /// fixes at these times. If the machine was woken for another time, that run would make an additional fix at once.
  ///
  /// The planner of fixes may deliver fixes to clients on this thread, so this method calls it without a lock.
  private func scheduleInUTC() {
    guard !host.isEnding, surroundings.isTimeConfirmed(host.hub) else { return }
    let isFirst = state.withLock { state in
      guard !state.isOver, !state.isScheduledInUTC, state.settings?.way == .poweroff else { return false }
      state.isScheduledInUTC = true
      return true
    }
    if isFirst { host.hub.takeUpSchedule(secondsUntilDue: nil) }
  }

  /// The connected clients that keep the machine awake.
  private func clients(_ settings: BoardSleepSettings) -> [String] {
    BoardSleepSettings.Keeper.allCases.compactMap { keeper in
      guard settings.keepers.contains(keeper) else { return nil }
      let count = host.traffic.kinds(of: keeper).reduce(0) { $0 + $1.clients }
      return count == 0 ? nil : "\(count) client\(count == 1 ? "" : "s") of \(keeper.rawValue)"
    }
  }

  func act(on effects: [BoardSleepPolicy.Effect]) {
    for effect in effects {
      switch effect {
      case .stay(let stay): say(stay)
      case .abandon: break
      case .prepare(let plan):
        let error = DetachedThread.start("board sleep") { [self] in attempt(plan) }
        if error != 0 { refused(plan, "no thread can be started for it") }
      }
    }
  }

  /// Logs why the machine stays awake, if its owner must know, once for each reason.
  private func say(_ stay: BoardSleepPolicy.Stay) {
    guard stay.isProblem else { return }
    let text = "\(stay)"
    let isNew = state.withLock { state in
      defer { state.said = text }
      return state.said != text
    }
    if isNew { write(.warning, "the board stays awake: \(text)") }
  }

  /// Whether the attempt for this plan must continue: it is still the current one, and the hub is not ending.
  func isPreparing(_ plan: BoardSleepPolicy.Plan, _ settings: BoardSleepSettings) -> Bool {
    !host.isEnding && state.withLock { $0.isPreparing(plan, settings) }
  }

  func setAlarm() {
    alarm.set(asking: { host.isEnding ? nil : state.withLock { $0.isOver ? nil : $0.policy?.nextLook } }) {
      [weak self] in self?.look()
    }
  }

  // MARK: Awake again

  /// Handles the end of a suspension, which this hub or another program may have requested.
  private func resumed(after slept: Duration) {
    let now = host.now
    let system = host.hub.machine.systemTime()
    let (wake, settings) = state.withLock { state -> (BoardWake?, BoardSleepSettings?) in
      let isOwn = state.policy?.sleep != nil
      let late = state.lateSleep(at: system - slept.inNanoseconds)
      guard isOwn || late != nil, state.settings?.way == .suspend else {
        state.policy?.goBack(by: slept)
        return (nil, nil)
      }
      if !isOwn { state.memory.sleep = late }
      (state.told, state.late) = (nil, nil)
      let wake = state.memory.wake(at: system, slept: slept.inSeconds)
      state.policy?.woke(wasWoken: wake?.isByAlarm ?? false, at: now)
      state.said = nil
      return (wake, state.settings)
    }
    guard let settings else { return lookSoon() }
    suspendAlarm.cancel()
    followWanted()
    if let wake { write(.notice, "\(wake)") }
    tellAwake(settings)
    // The disk and the real-time clock may take seconds. The next attempt saves the totals if no thread can be started.
    _ = DetachedThread.start("board sleep") { [self] in
      if wake?.isByAlarm != true { clearAlarm(settings) }
      keep()
    }
    lookSoon()
  }

  /// Tells the hooks that the machine is awake, if they were told that it sleeps.
  func tellAwake(_ settings: BoardSleepSettings) {
    let mustTell = state.withLock { state in
      defer { state.hasTold = false }
      return state.hasTold
    }
    guard mustTell else { return }
    host.shutdownNotices.send(
      BoardShutdownNotice(event: .sleep, isBegin: false, device: "board", text: "the board is awake"))
  }

  func keep() {
    // Copy the memory first, because the state must not be locked while the file is written.
    file?.keep(state.withLock { $0.memory })
  }

  func write(_ priority: JournalSink.Priority, _ text: String) {
    sink.write(priority, text, fields: [.init("SENSORHUB_EVENT", "sleep")])
  }
}

extension BoardSleepOutput.State {
  fileprivate mutating func followWanted(at now: MonotonicInstant) {
    guard policy?.sleep == nil, case .some(let wanted) = self.wanted, settings != wanted else { return }
    settings = wanted
    policy = wanted.map { BoardSleepPolicy($0, wasWoken: true, at: now) }
    said = nil
  }

  /// The suspension of an earlier attempt, which may begin only now; `nil` if its alarm has passed.
  fileprivate func lateSleep(at system: Int64) -> BoardSleepMemory.Sleep? {
    late.flatMap { $0.alarmAt.map { $0 > system } ?? true ? $0 : nil }
  }

  /// Whether the attempt for this plan is the current one. If the settings differ, an equal plan belongs to a later
  /// attempt.
  func isPreparing(_ plan: BoardSleepPolicy.Plan, _ settings: BoardSleepSettings) -> Bool {
    !isOver && self.settings == settings && policy?.isPreparing(plan) ?? false
  }

  fileprivate func report(_ situation: BoardSleepPolicy.Situation, _ lead: Double) -> BoardSleepReport? {
    guard let settings, let policy else { return nil }
    return BoardSleepReport(
      way: settings.way, reason: policy.stay?.description ?? "it goes to sleep",
      isProblem: policy.stay?.isProblem ?? false, sleepCount: memory.sleepCount, asleepSeconds: memory.asleepSeconds,
      wakeSeconds: lead, nextWake: situation.next?.wake)
  }
}

extension OutputTraffic {
  /// The outputs whose clients keep the machine awake, for a word of `sleep.keep` in the board file.
  func kinds(of keeper: BoardSleepSettings.Keeper) -> [Kind] {
    switch keeper {
    // Users who are logged in on the machine are not clients of an output.
    case .users: []
    case .gpsd: [gpsd]
    case .nmea: [nmea]
    case .signalk: [signalK]
    case .http: [http]
    case .mqtt: [mqtt]
    case .sockets: [devices, state, record]
    }
  }
}
