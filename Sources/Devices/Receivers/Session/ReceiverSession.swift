import HardwareIO
import MonotonicTime
import NMEA

/// One run of reading a receiver. The session wakes, finds, identifies and configures the receiver, reads it, and puts
/// it to sleep at the end.
///
/// Use a session on one thread. A refusal by the receiver does not end the run.
public final class ReceiverSession {
  /// How far the session has come with a receiver that takes commands.
  enum Phase {
    /// The receiver was not heard yet.
    case unheard
    /// The receiver was heard, but was not asked for its identity with enough time for an answer.
    case heard(CommandChannel)
    /// The receiver was asked for its identity, with enough time for an answer.
    case asked(CommandChannel)

    var channel: CommandChannel? {
      switch self {
      case .unheard: nil
      case .heard(let channel), .asked(let channel): channel
      }
    }

    var hasAsked: Bool {
      switch self {
      case .unheard, .heard: false
      case .asked: true
      }
    }
  }

  /// The time from waking until the receiver accepts commands (u-blox M8 receiver description, 9.3).
  private static let wakingTime = Duration.milliseconds(500)
  /// Slightly less than the time from a restart until the receiver sends again.
  private static let startingTime = Duration.seconds(1)

  private let configuration: ReceiverConfiguration
  private let memory: ReceiverMemory
  private let receiver: SerialReceiver
  private let delegate: any ReceiverSessionDelegate
  /// Passes an epoch to the delegate.
  private let receive: (borrowing GNSSObservation) -> Void
  private let finder: ReceiverFinder
  private let setup: ReceiverSetup
  private let receiverHealth: ReceiverHealth
  private let suppliedSince: MonotonicInstant
  private let knowledge: KnowledgeOfRun
  /// The sleep mode after this run while the supply stays on; `nil` for none. If the hub chooses the mode at the end of
  /// the run, this property is valid after `end()`.
  public private(set) var rest: ReceiverSleep?
  private var troubles: TroubleMachine
  private var phase = Phase.unheard

  /// - Parameters:
  ///   - suppliedSince: when the receiver's supply was switched on; the receiver has been awake since, and may have
  ///     lost its data
  ///   - receiverHealth: the doubts of other sources about the receiver
  ///   - keeping: stores the receiver's satellite data while its supply is off
  public init(
    _ configuration: ReceiverConfiguration, _ memory: ReceiverMemory, _ receiver: SerialReceiver,
    suppliedSince: MonotonicInstant, receiverHealth: ReceiverHealth = ReceiverHealth(),
    keeping: KnowledgeKeeping = .none, delegate: any ReceiverSessionDelegate
  ) {
    self.configuration = configuration
    self.memory = memory
    self.receiver = receiver
    self.delegate = delegate
    receive = { delegate.receive($0, from: receiver) }
    finder = ReceiverFinder(configuration: configuration, memory: memory, receiver: receiver, receive: receive)
    self.receiverHealth = receiverHealth
    knowledge = KnowledgeOfRun(keeping, memory, clock: receiver.clock, suppliedSince: suppliedSince)
    setup = ReceiverSetup(configuration: configuration, memory: memory, knowledge: knowledge, delegate: delegate)
    self.suppliedSince = suppliedSince
    rest = configuration.rest
    receiverHealth.forget()
    troubles = memory.present.troubles.resumed
    if memory.opened(DeviceNode(of: receiver.port.fileDescriptor)) {
      delegate.identified(nil)
      perform(troubles.replaced())
    }
    if memory.present.asleepSupply != suppliedSince { memory.present.asleep = nil }
    receiver.resume(memory.present.suspicion)
  }

  /// Finds and configures the receiver.
  ///
  /// - Returns: the speed of its line; `nil` when told to stop
  public func start() throws(HardwareError) -> BaudRate? {
    guard configuration.driver.takesCommands else {
      return try receiver.findSpeed(configuration.speed, receive: receive)
    }
    let wokenFrom = memory.present.asleep
    let startedAt = receiver.clock.now
    guard let found = try finder.find(asleep: wokenFrom) else { return nil }
    memory.present.asleep = nil
    memory.present.lastSpeed = found
    let channel = finder.channel(at: found)
    phase = .heard(channel)
    if wokenFrom != nil, case let rest = ReceiverSession.wakingTime - (receiver.clock.now - startedAt), rest > .zero,
      try channel.listen(for: rest)
    {
      return nil
    }
    try setUp(channel, wokenFrom: wokenFrom, foundAt: found)
    memory.present.lastSpeed = channel.speed
    return channel.speed
  }

  /// Identifies and configures a receiver that was heard.
  private func setUp(
    _ channel: CommandChannel, wokenFrom: ReceiverSleep?, foundAt speed: BaudRate
  ) throws(HardwareError) {
    switch try setup.identify(channel, wokenFrom: wokenFrom) {
    case .interrupted: phase = .heard(channel)
    case .unanswered: phase = .asked(channel)
    case .answered(let known):
      phase = .asked(channel)
      try setup.configure(known, channel, wokenFrom: wokenFrom, foundAt: speed)
    }
  }

  /// Reads epochs until told to stop. Restarts the receiver if it does not work.
  public func run() throws(HardwareError) {
    defer {
      memory.present.suspicion = receiver.suspicion
      memory.present.troubles = troubles
    }
    while true {
      var restart: ReceiverRestart?
      let isOver = try receiver.run(
        until: {
          restart = self.dueRestart()
          return restart != nil
        },
        receive: { observation in
          self.look(at: observation)
          self.receive(observation)
        })
      guard isOver, let restart else { return }
      guard try restartReceiver(restart) else { return }
    }
  }

  /// Restores the previous settings and puts the receiver to sleep, as configured; or saves its satellite data, if the
  /// supply is then switched off. Requests to stop are ignored, and the function ends within
  /// `CommandChannel.endingTime`. If the receiver has not been identified yet, and there is time, it is identified now.
  ///
  /// - Returns: whether the receiver sleeps, so that its supply may stay on
  public func end() throws(HardwareError) -> Bool {
    let expected = memory.present.receiver?.driver ?? configuration.driver
    if configuration.choosesSleep { rest = delegate.chooseSleep(of: expected) }
    if configuration.keepsKnowledge, rest == nil {
      saveKnowledge()
      return false
    }
    // A receiver that loses its supply loses its settings anyway.
    let restores = configuration.settings.restores && (rest != nil || !configuration.isSwitched)
    guard configuration.driver.takesCommands, restores || rest != nil else { return false }
    let deadline = receiver.clock.now + CommandChannel.endingTime
    var open = phase.channel
    if open == nil { open = try finder.hear(until: deadline) }
    guard let channel = open else {
      warnAboutSleep("it could not be put to sleep: it sent nothing while it was on")
      return false
    }
    channel.endInOrder(by: deadline)
    var known = memory.present.receiver
    if known == nil, !phase.hasAsked {
      known = try configuration.driver.identify(channel, tries: 1)
      memory.present.receiver = known
      if let known { delegate.identified(known.identity) }
    }
    guard var known else {
      warnAboutSleep(
        phase.hasAsked
          ? "it could not be put to sleep: " + ReceiverSetup.unanswered(as: configuration.driver)
          : "it could not be put to sleep: it has not identified itself yet")
      return false
    }
    memory.present.lastSpeed = channel.speed
    if restores {
      try known.restore(channel)
      if channel.isOverdue { delegate.warn("\(known.name): it did not answer, so its settings could not be restored") }
      memory.present.receiver = known
      memory.present.lastSpeed = channel.speed
    }
    if configuration.choosesSleep, known.driver != expected { rest = delegate.chooseSleep(of: known.driver) }
    guard let rest else { return false }
    guard known.driver.sleeps(isSwitched: configuration.isSwitched).contains(rest) else {
      delegate.warn("\(known.name): it cannot wake from the sleep mode '\(rest.rawValue)': choose another 'sleep'")
      return false
    }
    guard try known.fallAsleep(rest, channel, configuration.settings) else {
      delegate.warn("\(known.name): it was told to sleep ('\(rest.rawValue)'), but keeps sending")
      // Another receiver may be on the line by now, so the next run identifies it again.
      if configuration.driver == .auto { memory.present.receiver = nil }
      return false
    }
    memory.present.asleep = rest
    memory.present.asleepSupply = suppliedSince
    return true
  }

  /// When the receiver leaves its sleep mode by itself; `nil` if never.
  public var sleepLimit: SleepLimit? {
    guard let rest, let known = memory.present.receiver else { return nil }
    return known.sleepLimit(in: rest)
  }

  /// Puts the receiver to sleep after a run that has failed, if its supply cannot be switched off instead.
  ///
  /// - Returns: whether the receiver sleeps
  public func endFailed() -> Bool {
    guard configuration.sleepsSupplied, !configuration.isSwitched, phase.channel != nil else { return false }
    // Ignore the error: `end()` has warned about failed steps, and without a line it fails at once.
    return (try? end()) ?? false
  }

  /// Saves the receiver's data before its supply is switched off. A failure here only makes the next start slower.
  private func saveKnowledge() {
    guard troubles.reported == nil, let channel = phase.channel, let known = memory.present.receiver else { return }
    channel.endInOrder(by: receiver.clock.now + KnowledgeOfRun.savingTime)
    do throws(HardwareError) {
      try knowledge.save(from: known, channel, isAlone: delegate.isSuppliedAlone)
    } catch {
      // If the line is gone, the next attempt to open it reports that.
      return
    }
    setup.reportProblems(of: known)
  }

  private func warnAboutSleep(_ text: String) {
    if configuration.mustRest { delegate.warn(text) }
  }

  // MARK: Restarting the receiver

  private func look(at observation: borrowing GNSSObservation) {
    knowledge.look(at: observation)
    let isContradicted = receiverHealth.isContradicted(at: observation.at)
    perform(troubles.take(observation, isContradicted: isContradicted))
  }

  /// The kind of restart that is due, if the receiver is in trouble.
  private func dueRestart() -> ReceiverRestart? {
    let now = receiver.clock.now
    let isContradicted = receiverHealth.isContradicted(at: now)
    guard let trouble = troubles.trouble(receiver.fault, isContradicted: isContradicted, at: now) else { return nil }
    let canBeTold = configuration.driver.takesCommands && phase.channel != nil && memory.present.receiver != nil
    return perform(
      troubles.act(
        on: trouble, at: now, canBeTold: canBeTold,
        isSwitched: configuration.isSwitched && delegate.isSuppliedAlone))
  }

  /// Reports what has changed.
  ///
  /// - Returns: the restart that is due
  @discardableResult
  private func perform(_ effects: [TroubleMachine.Effect]) -> ReceiverRestart? {
    var due: ReceiverRestart?
    for effect in effects {
      switch effect {
      case .report(let trouble): delegate.restarted(trouble)
      case .restart(let restart): due = restart
      }
    }
    return due
  }

  /// Restarts the receiver and configures it again.
  ///
  /// - Returns: whether the receiver was restarted; `false` if the reader was told to stop
  private func restartReceiver(_ restart: ReceiverRestart) throws(HardwareError) -> Bool {
    try knowledge.forget(of: memory.present.receiver, phase.channel)
    guard restart != .power, let channel = phase.channel, let known = memory.present.receiver else {
      // The error ends this run, and the next run starts the receiver.
      throw .unexpectedDevice("the receiver on \(receiver.port.name) does not work: \(troubles.reported ?? "")")
    }
    let (before, first) = (channel.speed, memory.present.firstSpeed)
    try known.restart(restart, channel)
    receiverHealth.forget()
    if try channel.listen(for: ReceiverSession.startingTime) { return false }
    guard let speed = try finder.find(restartedAt: before) else { return false }
    try channel.go(to: speed)
    try setUp(channel, wokenFrom: nil, foundAt: speed)
    // If the speed has not changed, the receiver may have kept its settings. Its speed without settings may then be
    // another one, so restore the known value.
    if speed == before, let first { memory.present.firstSpeed = first }
    memory.present.lastSpeed = channel.speed
    return !channel.isStopped
  }
}

extension ReceiverSession {
  /// Puts a receiver to sleep outside a session, when only its configuration is known. If the line is silent, the
  /// receiver sleeps already or is missing, and the function does nothing.
  public static func putToSleep(
    _ configuration: ReceiverConfiguration, _ port: any SerialPort, clock: any MonotonicTimeSource
  ) throws(HardwareError) {
    guard configuration.sleepsSupplied else { return }
    let receiver = SerialReceiver(port: port, poller: Poller(stop: -1), clock: clock)
    let likely = configuration.likelySpeeds
    // Opening a line may produce one or two bytes.
    let leastNoise = 16
    let expected = likely.isEmpty ? Array(SerialReceiver.usualSpeeds.prefix(3)) : likely
    for speed in expected + SerialReceiver.usualSpeeds.filter({ !expected.contains($0) }) {
      // At a wrong speed, the bytes of a receiver arrive as noise. If there was no noise, no receiver sends at the
      // other speeds.
      if !expected.contains(speed), receiver.byteCount < leastNoise { return }
      guard try receiver.listen(at: speed, for: SerialReceiver.listeningTime, { _ in }) == .heard else { continue }
      let channel = CommandChannel(receiver, speed: speed, receive: { _ in })
      guard let known = try configuration.driver.identify(channel),
        let rest = configuration.rest ?? known.driver.deepestSleep(isSwitched: configuration.isSwitched),
        known.driver.sleeps(isSwitched: configuration.isSwitched).contains(rest)
      else {
        throw .unexpectedDevice("the receiver on \(port.name) does not answer, so it cannot be put to sleep")
      }
      guard try known.fallAsleep(rest, channel, configuration.settings) else {
        throw .unexpectedDevice("the receiver on \(port.name) was told to sleep, but keeps sending")
      }
      return
    }
    if receiver.byteCount >= leastNoise {
      throw .unexpectedDevice("\(port.name) has noise at every speed, so its receiver cannot be put to sleep")
    }
  }
}

extension CommandedReceiver {
  /// Tells the receiver to sleep, and listens until it is silent.
  ///
  /// - Returns: whether it has fallen silent
  func fallAsleep(
    _ rest: ReceiverSleep, _ channel: CommandChannel, _ settings: ReceiverSettings
  ) throws(HardwareError) -> Bool {
    try sleep(rest, channel)
    let period = settings.rateHz.map { Duration.nanoseconds(Int64(1e9 / $0)) } ?? .seconds(1)
    return try channel.awaitSilence(
      of: max(period + period / 4, .milliseconds(400)), within: period * 3 + .seconds(1))
  }
}
