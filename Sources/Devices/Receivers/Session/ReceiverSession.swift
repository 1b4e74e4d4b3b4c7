import HardwareIO
import MonotonicTime
import NMEA

/// One run of reading a receiver. The session wakes, finds, identifies and configures the receiver, reads it, and puts
/// it to sleep at the end.
///
/// Use a session on one thread. A refusal by the receiver does not end the run.
public final class ReceiverSession {
  /// The progress of the session with a receiver that takes commands.
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
  }

  /// The time from waking until the receiver accepts commands (u-blox M8 receiver description, 9.3).
  private static let wakingTime = Duration.milliseconds(500)
  /// Slightly less than the time from a restart until the receiver sends again.
  private static let startingTime = Duration.seconds(1)

  private let configuration: ReceiverConfiguration
  private let memory: ReceiverMemory
  private let receiver: SerialReceiver
  private let delegate: any ReceiverSessionDelegate
  private let receiverHealth: ReceiverHealth
  private let knowledge: KnowledgeOfRun
  private let finder: ReceiverFinder
  private let setup: ReceiverSetup
  private let ending: ReceiverEnding
  private var troubles: TroubleMachine
  private var phase = Phase.unheard
  /// The line's speed when a client of the bridge began to write; `nil` once the hub has found the receiver again.
  private var relayedAt: BaudRate?

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
    finder = ReceiverFinder(
      configuration: configuration, memory: memory, receiver: receiver,
      receive: { delegate.receive($0, from: receiver) })
    self.receiverHealth = receiverHealth
    knowledge = KnowledgeOfRun(keeping, memory, clock: receiver.clock, suppliedSince: suppliedSince)
    setup = ReceiverSetup(configuration: configuration, memory: memory, knowledge: knowledge, delegate: delegate)
    ending = ReceiverEnding(finder, setup, suppliedSince: suppliedSince)
    receiverHealth.forget()
    troubles = memory.present.troubles.resumed
    if memory.opened(DeviceNode(of: receiver.port.fileDescriptor)) {
      delegate.identified(nil)
      perform(troubles.replaced())
    }
    if memory.present.asleepSupply != suppliedSince { memory.present.asleep = nil }
    receiver.resume(memory.present.suspicion)
  }

  /// Finds and configures the receiver, at the start of a run and after `relay`.
  ///
  /// - Returns: the speed of its line; `nil` when told to stop. If the receiver is silent and a client of the bridge
  ///   wants to write, the speed at which it was last heard
  public func start() throws(HardwareError) -> BaudRate? {
    do throws(HardwareError) {
      let speed = try startHeard()
      if speed != nil { receiver.bridge?.receiverFound() }
      return speed
    } catch {
      // A client may have stopped the receiver's output. Then only a client can make the receiver send again.
      guard error.isSilence, receiver.bridge?.isInUse == true else { throw error }
      let speed = relayedAt ?? memory.present.lastSpeed ?? configuration.speed ?? .b9600
      try receiver.setSpeed(speed)
      return speed
    }
  }

  private func startHeard() throws(HardwareError) -> BaudRate? {
    guard configuration.driver.takesCommands else {
      return try receiver.findSpeed(configuration.speed, receive: finder.receive)
    }
    let wokenFrom = memory.present.asleep
    let startedAt = receiver.clock.now
    guard let found = try find(asleep: wokenFrom) else { return nil }
    memory.present.asleep = nil
    memory.present.lastSpeed = found
    let channel = finder.channel(at: found)
    phase = .heard(channel)
    if wokenFrom != nil, case let rest = ReceiverSession.wakingTime - (receiver.clock.now - startedAt), rest > .zero,
      try channel.listen(for: rest)
    {
      return nil
    }
    let first = memory.present.firstSpeed
    try setUp(channel, wokenFrom: wokenFrom, foundAt: found)
    // If the client has not changed the speed, it may have kept the receiver's other settings too. The speed to which
    // the receiver returns when it loses its settings may then differ from the present speed, so restore the known
    // value.
    if found == relayedAt, let first { memory.present.firstSpeed = first }
    relayedAt = nil
    memory.present.lastSpeed = channel.speed
    return channel.speed
  }

  private func find(asleep: ReceiverSleep?) throws(HardwareError) -> BaudRate? {
    guard let relayedAt else { return try finder.find(asleep: asleep) }
    return try finder.find(restartedAt: relayedAt)
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

  /// Reads epochs until told to stop, or until a client of the bridge wants to write. Restarts the receiver if it does
  /// not work.
  ///
  /// - Returns: whether a client wants to write; `relay` and `start` follow then
  @discardableResult
  public func run() throws(HardwareError) -> Bool {
    defer {
      memory.present.suspicion = receiver.suspicion
      memory.present.troubles = troubles
    }
    while true {
      var restart: ReceiverRestart?
      var isClaimed = false
      let isOver = try receiver.run(
        until: {
          isClaimed = self.receiver.bridge?.isInUse == true
          if isClaimed { return true }
          restart = self.dueRestart()
          return restart != nil
        },
        receive: { observation in
          self.look(at: observation)
          self.delegate.receive(observation, from: self.receiver)
        })
      if isClaimed { return isOver }
      guard isOver, let restart else { return false }
      guard try restartReceiver(restart) else { return false }
    }
  }

  /// Passes the bytes of the bridge's client to the receiver until the client has left. The hub sends nothing of its
  /// own in the meantime, and does not restart the receiver. The client may have changed anything, so `start` must
  /// follow.
  ///
  /// - Returns: whether the client has left, and the reader was not told to stop
  public func relay() throws(HardwareError) -> Bool {
    memory.present.isAltered = true
    relayedAt = phase.channel?.speed ?? memory.present.lastSpeed
    // From now on the hub knows neither the receiver's speed nor its settings.
    phase = .unheard
    let hasLeft = try receiver.relay { observation in
      self.knowledge.look(at: observation)
      self.delegate.receive(observation, from: self.receiver)
    }
    troubles = troubles.resumed
    return hasLeft
  }

  /// Restores the previous settings and puts the receiver to sleep, as configured; or saves its satellite data, if the
  /// supply is then switched off. Requests to stop are ignored, and the function ends within
  /// `CommandChannel.endingTime`. If the receiver has not been identified yet, and there is time, it is identified now.
  ///
  /// - Returns: whether the receiver sleeps, so that its supply may stay on
  public func end() throws(HardwareError) -> Bool {
    try ending.end(phase, isInTrouble: troubles.reported != nil)
  }

  /// The sleep mode after this run while the supply stays on; `nil` for none. If the hub chooses the mode at the end of
  /// the run, this property is valid after `end()`.
  public var rest: ReceiverSleep? { ending.rest }

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

  /// Reports the changes of the trouble to the delegate.
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
    // If the speed has not changed, the receiver may have kept its settings. The speed to which it returns when it
    // loses its settings may then differ from the present speed, so restore the known value.
    if speed == before, let first { memory.present.firstSpeed = first }
    memory.present.lastSpeed = channel.speed
    return !channel.isStopped
  }
}

extension HardwareError {
  /// Whether a receiver was not heard at any speed.
  fileprivate var isSilence: Bool {
    switch self {
    case .unheard, .timedOut: true
    default: false
    }
  }
}
