import HardwareIO
import MonotonicTime

/// Carries out the end of a run: restores the settings and puts the receiver to sleep, or saves its satellite data.
final class ReceiverEnding {
  /// The sleep mode after this run while the supply stays on; `nil` for none.
  private(set) var rest: ReceiverSleep?
  private let configuration: ReceiverConfiguration
  private let memory: ReceiverMemory
  private let clock: any MonotonicTimeSource
  private let suppliedSince: MonotonicInstant
  private let delegate: any ReceiverSessionDelegate
  private let knowledge: KnowledgeOfRun
  private let finder: ReceiverFinder
  private let setup: ReceiverSetup

  init(_ finder: ReceiverFinder, _ setup: ReceiverSetup, suppliedSince: MonotonicInstant) {
    configuration = setup.configuration
    memory = setup.memory
    clock = finder.receiver.clock
    delegate = setup.delegate
    knowledge = setup.knowledge
    rest = setup.configuration.rest
    self.suppliedSince = suppliedSince
    self.finder = finder
    self.setup = setup
  }

  /// Ends the run.
  ///
  /// - Parameters:
  ///   - phase: the progress of the session
  ///   - isInTrouble: whether the receiver does not work, so that its satellite data may be wrong
  /// - Returns: whether the receiver sleeps
  func end(_ phase: ReceiverSession.Phase, isInTrouble: Bool) throws(HardwareError) -> Bool {
    let expected = memory.present.receiver?.driver ?? configuration.driver
    if configuration.choosesSleep { rest = delegate.chooseSleep(of: expected) }
    switch RunEnding(configuration, rest: rest) {
    case .leave: return false
    case .saveKnowledge:
      if !isInTrouble, let channel = phase.channel { saveKnowledge(channel) }
      return false
    case .settle(let restores):
      let deadline = clock.now + CommandChannel.endingTime
      guard let channel = try open(phase, until: deadline) else { return false }
      channel.endInOrder(by: deadline)
      guard var known = try identify(channel, phase) else { return false }
      memory.present.lastSpeed = channel.speed
      if restores { try restore(&known, channel) }
      if configuration.choosesSleep, known.driver != expected { rest = delegate.chooseSleep(of: known.driver) }
      guard let rest else { return false }
      return try putToSleep(known, rest, channel)
    }
  }

  /// Saves the receiver's data before its supply is switched off. A failure here only makes the next start slower.
  private func saveKnowledge(_ channel: CommandChannel) {
    guard let known = memory.present.receiver else { return }
    channel.endInOrder(by: clock.now + KnowledgeOfRun.savingTime)
    do throws(HardwareError) {
      try knowledge.save(from: known, channel, isAlone: delegate.isSuppliedAlone)
    } catch {
      // If the line is gone, the next attempt to open it reports that.
      return
    }
    setup.reportProblems(of: known)
  }

  /// The channel to the receiver; `nil`, with a warning, if the receiver is not heard.
  private func open(
    _ phase: ReceiverSession.Phase, until deadline: MonotonicInstant
  ) throws(HardwareError) -> CommandChannel? {
    if let channel = phase.channel { return channel }
    if let channel = try finder.hear(until: deadline) { return channel }
    warnAboutSleep("it sent nothing while it was on")
    return nil
  }

  /// The receiver in memory, or the one that answers now; `nil`, with a warning, if there is none. A receiver that was
  /// asked before and did not answer is not asked again.
  private func identify(
    _ channel: CommandChannel, _ phase: ReceiverSession.Phase
  ) throws(HardwareError) -> (any CommandedReceiver)? {
    if let known = memory.present.receiver { return known }
    if case .asked = phase {
      warnAboutSleep(ReceiverSetup.unanswered(as: configuration.driver))
      return nil
    }
    guard let known = try configuration.driver.identify(channel, tries: 1) else {
      warnAboutSleep("it has not identified itself yet")
      return nil
    }
    memory.present.receiver = known
    delegate.identified(known.identity)
    return known
  }

  private func restore(
    _ known: inout any CommandedReceiver, _ channel: CommandChannel
  ) throws(HardwareError) {
    try known.restore(channel)
    if channel.isOverdue { delegate.warn("\(known.name): it did not answer, so its settings could not be restored") }
    memory.present.receiver = known
    memory.present.lastSpeed = channel.speed
  }

  private func putToSleep(
    _ known: any CommandedReceiver, _ rest: ReceiverSleep, _ channel: CommandChannel
  ) throws(HardwareError) -> Bool {
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

  private func warnAboutSleep(_ why: String) {
    if configuration.mustRest { delegate.warn("it could not be put to sleep: " + why) }
  }
}
