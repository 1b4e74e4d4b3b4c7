import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing

/// One attempt to put the machine to sleep. All methods run on the attempt's own thread.
extension BoardSleepOutput {
  /// Why an attempt ends.
  private enum End: Error {
    /// The machine cannot sleep, or would not wake.
    case refused(String)
    /// logind did not answer, and may still put the machine to sleep.
    case unanswered(String)
    /// Something needs the machine after all.
    case abandoned
  }

  /// How long hooks may take before the machine sleeps.
  static let hookPatience = Duration.seconds(10)
  /// How long logind may take to suspend the machine after the request.
  static let suspendPatience = Duration.seconds(60)
  /// The shortest time from the request to logind to the alarm, seconds. A machine that is still shutting down when its
  /// alarm comes would never wake.
  private static func leastSeconds(_ way: BoardSleepSettings.Way) -> Int64 { way == .suspend ? 5 : 60 }

  func attempt(_ plan: BoardSleepPolicy.Plan) { attempting.withLock { _ in tryToSleep(plan) } }

  private func tryToSleep(_ plan: BoardSleepPolicy.Plan) {
    guard let settings = state.withLock({ $0.settings }) else { return }
    guard isPreparing(plan, settings) else { return }
    do throws(End) {
      try check(plan, settings)
      announce(plan, settings)
      host.saveRecordings()
      surroundings.save()
      // A client may have come while the hooks ran and the data was saved.
      look()
      guard isPreparing(plan, settings) else { throw End.abandoned }
      let alarm = try setAlarm(plan, settings)
      try sleep(plan, settings, alarm)
    } catch {
      switch error {
      case .refused(let reason):
        giveUp(settings)
        return refused(plan, reason)
      case .unanswered(let reason):
        giveUp(settings, keepsAlarm: true)
        return refused(plan, reason)
      case .abandoned: giveUp(settings)
      }
      // If the hub ends, the attempt ends too, but the machine is not needed, so log nothing.
      if host.isEnding || state.withLock({ $0.isOver }) { return }
      write(.notice, "the board stays awake: it is needed again")
      look()
    }
  }

  func refused(_ plan: BoardSleepPolicy.Plan, _ reason: String) {
    let now = host.now
    act(on: state.withLock { $0.policy?.refused(plan, reason, at: now) ?? [] })
    followWanted()
    setAlarm()
  }

  // MARK: The steps

  /// Makes the checks that change nothing, before the hooks are told and the alarm is set.
  private func check(_ plan: BoardSleepPolicy.Plan, _ settings: BoardSleepSettings) throws(End) {
    guard surroundings.isReal(host.hub) else {
      throw .refused(
        "it has simulated devices, and this machine must not sleep for them: use real devices, or leave 'sleep' out")
    }
    let lines = host.hub.linesThatAreOn(ignoringResting: settings.way == .poweroff)
    if let line = lines.first { throw .refused(line) }
    if settings.keepers.contains(.users) {
      let user: String?
      do throws(ShutdownRefusal) { user = try power.user() } catch { throw .refused("\(error)") }
      if let user { throw .refused("\(user) is logged in ('keep' in the board file's 'sleep' has 'users')") }
    }
    if let refusal = power.refusal(of: settings.way) { throw .refused("\(refusal)") }
    guard plan.alarm != nil else { return }
    let system = host.hub.machine.systemTime()
    if let rtc = settings.rtc {
      let clock = surroundings.clock(rtc)
      if let problem = clock.problem { throw .refused("\(problem)") }
      let now: Int64
      do throws(WakeClockError) { now = try clock.now() } catch { throw .refused("\(error)") }
      if surroundings.isTimeConfirmed(host.hub) {
        state.withLock { $0.memory.trust = ClockTrust(system: system, clock: now) }
      }
    }
    // For a suspension only the time until the alarm matters, so the date may be wrong. After a boot the date decides
    // when the fix is due, and a command gets the date.
    let isRelative = settings.way == .suspend && settings.rtc != nil && settings.command == nil
    guard isRelative || isTimeCertain(settings, state.withLock({ $0.memory }), system) else {
      let next = awaitTime() ? "a receiver is on now to confirm it" : "let a time server confirm it"
      throw .refused("its clock is not confirmed, so its alarm might never come: \(next)")
    }
  }

  /// Logs the coming sleep, tells the hooks, and waits for their reaction.
  private func announce(_ plan: BoardSleepPolicy.Plan, _ settings: BoardSleepSettings) {
    let what = settings.way == .suspend ? "the board is suspended" : "the board is switched off"
    let seconds = plan.alarm.map { ($0 - host.now).inSeconds }
    let until = seconds.map { "for \(Text.duration(seconds: $0)), until its alarm" } ?? "without an end"
    let text = "\(what) \(until)" + (plan.fix.map { " for \($0.holder)" } ?? "")
    write(.notice, text)
    guard host.shutdownNotices.hasSubscribers else { return }
    state.withLock { $0.hasTold = true }
    let told = WakeSignal()
    let limit = host.hub.machine.clock.schedule(at: host.now + BoardSleepOutput.hookPatience) { told.raise() }
    host.shutdownNotices.send(
      BoardShutdownNotice(
        event: .sleep, isBegin: true, device: "board", text: text, told: Callback { told.raise() }))
    // Without a descriptor, the wait would never end.
    if told.fileDescriptor >= 0 { told.wait() }
    limit.cancel()
  }

  /// Sets the alarm, reads it back, and runs the command.
  ///
  /// - Returns: the alarm; `nil` without one
  private func setAlarm(_ plan: BoardSleepPolicy.Plan, _ settings: BoardSleepSettings) throws(End) -> WakeAlarm? {
    var set: WakeAlarm?
    let system = host.hub.machine.systemTime()
    let now = host.now
    var alarmAt = plan.alarm.map { system + ($0 - now).inNanoseconds }
    if let rtc = settings.rtc, let wanted = alarmAt {
      let clock = surroundings.clock(rtc)
      do throws(WakeClockError) {
        let alarm = WakeAlarm(at: wanted, clock: try clock.now(), system: system)
        try clock.setAlarm(alarm.instant)
        let secondsEarly = try confirm(alarm, clock, settings.way)
        // Without this, a wake by an alarm that the clock has rounded down would count as one for another reason.
        alarmAt = wanted - secondsEarly * 1_000_000_000
        set = alarm
      } catch {
        clearAlarm(settings)
        throw .refused("\(error)")
      }
    }
    state.withLock { state in
      state.memory.sleep = BoardSleepMemory.Sleep(
        settings.way, beganAt: system, alarmAt: alarmAt, dueAt: plan.fix.map { system + ($0.due - now).inNanoseconds },
        holder: plan.fix?.holder)
    }
    keep()
    guard let words = settings.command else { return set }
    let command = WakeCommand(
      words: words, way: settings.way, wake: alarmAt.map { $0 / 1_000_000_000 }, now: system / 1_000_000_000,
      holder: plan.fix?.holder)
    let stop = StopSignal()
    commandStop.withLock { $0 = stop }
    defer { commandStop.withLock { $0 = nil } }
    guard isPreparing(plan, settings) else { throw .abandoned }
    state.withLock { $0.told = words[0] }
    if let problem = command.run(stop: stop) { throw .refused(problem) }
    return set
  }

  /// Reads the real-time clock and its alarm, and checks that the machine would wake.
  ///
  /// - Returns: how many seconds earlier than requested the alarm comes
  @discardableResult
  private func confirm(
    _ alarm: WakeAlarm, _ clock: any WakeClock, _ way: BoardSleepSettings.Way
  ) throws(WakeClockError) -> Int64 {
    let (system, now) = (host.hub.machine.systemTime(), try clock.now())
    // The kernel corrects the real-time clock by a time server's time. An alarm that was set before such a correction
    // would come too early or too late.
    guard abs(WakeAlarm(at: system, clock: now, system: system).difference - alarm.difference) <= 2 else {
      throw WakeClockError("the system clock or the real-time clock was set while the board was about to sleep")
    }
    let readBack = try clock.alarm()
    if let problem = alarm.problem(clock: now, readBack: readBack, least: BoardSleepOutput.leastSeconds(way)) {
      throw WakeClockError(problem)
    }
    return readBack.map(alarm.secondsEarly) ?? 0
  }

  private func sleep(
    _ plan: BoardSleepPolicy.Plan, _ settings: BoardSleepSettings, _ alarm: WakeAlarm?
  ) throws(End) {
    if let alarm, let rtc = settings.rtc {
      // While the command ran, another program may have set the real-time clock or its alarm, so check both again.
      let clock = surroundings.clock(rtc)
      do throws(WakeClockError) { try confirm(alarm, clock, settings.way) } catch { throw .refused("\(error)") }
    }
    // This check also applies to a board without a real-time clock, which a power manager wakes.
    if let alarmAt = plan.alarm, alarmAt - host.now < .seconds(BoardSleepOutput.leastSeconds(settings.way)) {
      throw .refused("the steps before its sleep took too long, and its alarm would come too soon")
    }
    look()
    let lines = host.hub.linesThatAreOn(ignoringResting: settings.way == .poweroff)
    if let line = lines.first { throw .refused(line) }
    if host.isEnding { throw .abandoned }
    let isPlanned = state.withLock { state in
      state.isPreparing(plan, settings) && state.policy?.sleeps(plan) ?? false
    }
    guard isPlanned else { throw .abandoned }
    if settings.way == .suspend {
      // The alarm is set first, because the machine may be suspended before logind answers.
      suspendAlarm.set(at: host.now + BoardSleepOutput.suspendPatience) { [weak self] in self?.didNotSleep(plan) }
    }
    if let refusal = power.begin(settings.way) {
      suspendAlarm.cancel()
      throw refusal.isUnanswered ? .unanswered("\(refusal)") : .refused("\(refusal)")
    }
    guard settings.way == .poweroff else { return }
    host.shutDownWithMachine()
    write(.notice, "the board is shutting down; all power lines are switched off")
  }

  /// Ends an attempt in which logind agreed to suspend the machine, but the machine was not suspended.
  private func didNotSleep(_ plan: BoardSleepPolicy.Plan) {
    guard let settings = state.withLock({ $0.policy?.sleep == plan ? $0.settings : nil }) else { return }
    let seconds = Int(BoardSleepOutput.suspendPatience.inSeconds)
    let error = DetachedThread.start("board sleep") { [self] in
      attempting.withLock { _ in
        // The machine may have been suspended in the meantime.
        guard state.withLock({ $0.policy?.sleep == plan }) else { return }
        // A slow machine may still be suspended later. The alarm must then wake it.
        giveUp(settings, keepsAlarm: true)
        refused(
          plan,
          "logind agreed, but the board was not suspended within \(seconds) s; the alarm stays set, because it may still "
            + "be: journalctl -b -u systemd-suspend")
      }
    }
    if error != 0 { refused(plan, "the board was not suspended within \(seconds) s") }
  }

  // MARK: Undoing the steps

  /// Undoes the steps of an attempt.
  ///
  /// - Parameter keepsAlarm: whether the alarm stays set, because the machine may still be suspended and must then wake
  private func giveUp(_ settings: BoardSleepSettings, keepsAlarm: Bool = false) {
    let (hadBegun, told) = state.withLock { state -> (Bool, String?) in
      defer { (state.memory.sleep, state.told) = (nil, nil) }
      if keepsAlarm { state.late = state.memory.sleep }
      return (state.memory.sleep != nil, state.told)
    }
    if hadBegun {
      if !keepsAlarm { clearAlarm(settings) }
      keep()
    }
    if let told {
      // The command may have told a power manager to cut the supply soon. The board still runs, and would then lose its
      // supply.
      write(
        .warning,
        "the board stays awake, but \(told) has run already and is not undone: the power manager may still act on it, "
          + "until the next sleep gives it another time")
    }
    tellAwake(settings)
  }

  /// Switches the alarm off, so that it does not wake a machine that someone switches off later. If the machine may
  /// still sleep because of an earlier attempt, that attempt's alarm is set again.
  func clearAlarm(_ settings: BoardSleepSettings) {
    guard let rtc = settings.rtc else { return }
    let (clock, system) = (surroundings.clock(rtc), host.hub.machine.systemTime())
    if let alarmAt = state.withLock({ $0.late?.alarmAt }), alarmAt > system, let now = try? clock.now() {
      try? clock.setAlarm(WakeAlarm(at: alarmAt, clock: now, system: system).instant)
    } else {
      try? clock.setAlarm(nil)
    }
  }
}
