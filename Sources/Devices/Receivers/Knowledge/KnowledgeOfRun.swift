import HardwareIO
import MonotonicTime
import NMEA

/// Prevents cold starts of a receiver that loses its memory when its supply is switched off. In each run it sends the
/// receiver its earlier satellite data, and saves the receiver's data before the supply is switched off.
///
/// The receiver works without this data, so a failure is only recorded, and the receiver is read as usual.
final class KnowledgeOfRun {
  /// The longest time for which saving delays switching off the supply.
  static let savingTime = Duration.seconds(2)
  /// The shortest time with fixes after which saving is worthwhile. Before that, no ephemeris is complete.
  private static let leastTracking = Duration.seconds(30)
  /// The shortest interval between writes to the flash, which tolerates about ten thousand writes.
  private static let leastBetweenWrites = Duration.seconds(3600)
  /// After the receiver has failed this number of consecutive times to report its data, it is not asked again.
  private static let mostInVain = 2

  private let keeping: KnowledgeKeeping
  private let memory: ReceiverMemory
  private let clock: any MonotonicTimeSource
  private let suppliedSince: MonotonicInstant
  private var firstFixAt: MonotonicInstant?
  private var last: (place: ReceiverKnowledge.Position, at: MonotonicInstant)?

  init(
    _ keeping: KnowledgeKeeping, _ memory: ReceiverMemory, clock: any MonotonicTimeSource,
    suppliedSince: MonotonicInstant
  ) {
    self.keeping = keeping
    self.memory = memory
    self.clock = clock
    self.suppliedSince = suppliedSince
  }

  /// The problem to report to the user; `nil` if there is none.
  var problem: String? { memory.present.savingProblem ?? memory.present.givingProblem }

  func look(at observation: borrowing GNSSObservation) {
    let fix = observation.fix
    guard fix.mode >= .twoDimensional, !observation.isFrozen, !fix.interference.isSpoofed, let position = fix.position
    else { return }
    let stated = fix.positionSigmas.map { Double(max($0.x, $0.y)) } ?? fix.horizontalErrorMetres
    let place = ReceiverKnowledge.Position(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
      altitudeHAEMetres: fix.altitudeHAEMetres,
      sigmaMetres: max(
        stated ?? ReceiverKnowledge.Position.usualSigmaMetres, ReceiverKnowledge.Position.leastSigmaMetres))
    last = (place, observation.at)
    if firstFixAt == nil { firstFixAt = observation.at }
  }

  /// Deletes the earlier data. The data may be the cause of the receiver's trouble, so the receiver must not start
  /// with it again.
  func forget(of receiver: (any CommandedReceiver)?, _ channel: CommandChannel?) throws(HardwareError) {
    guard let knowledge = keeping.present() else { return }
    keeping.keep(nil)
    if knowledge.isInFlash, let receiver, let channel { try receiver.clearBackup(channel) }
  }

  /// Sends the receiver its earlier data, once each time that its supply has been switched on.
  func giveBack(to receiver: any CommandedReceiver, _ channel: CommandChannel) throws(HardwareError) {
    guard memory.present.givenSince != suppliedSince else { return }
    memory.present.givenSince = suppliedSince
    guard let knowledge = keeping.present(), knowledge.isOf(receiver) else { return }
    let time = keeping.time()
    guard let age = knowledge.age(at: clock.now, time) else { return }
    let isFresh = age < ReceiverKnowledge.databaseLife
    let given = GivenKnowledge(
      time: time, place: knowledge.place.aged(by: age), database: isFresh ? knowledge.database : [],
      isInFlash: isFresh && knowledge.isInFlash)
    switch try receiver.giveBack(given, channel) {
    case .refused:
      memory.present.givingProblem =
        "it refused the satellite data that the hub saved before its "
        + "supply went off"
    case .accepted, .answered: memory.present.givingProblem = nil
    case .otherwise, .unanswered, .stopped: break
    }
  }

  /// Saves the receiver's data before its supply is switched off.
  ///
  /// - Parameter isAlone: whether the supply will certainly be switched off; otherwise the receiver must not be
  ///   stopped for saving
  func save(from receiver: any CommandedReceiver, _ channel: CommandChannel, isAlone: Bool) throws(HardwareError) {
    // Without a fix in this run, the receiver has learned nothing new, so the earlier data stays.
    guard let last, let firstFixAt else { return }
    let now = clock.now
    guard let place = last.place.aged(by: now - last.at) else { return }
    let time = keeping.time()
    var knowledge = ReceiverKnowledge(
      receiver: receiver.name, uniqueID: receiver.identity.uniqueID, savedAt: time?.utc(at: now).nanosecondsSince1970,
      savedAtInstant: now, place: place)
    // If the receiver has had no time to receive new ephemerides since the hub sent it the earlier data, that data
    // remains.
    let before = keeping.present()
    if now - firstFixAt < KnowledgeOfRun.leastTracking, let before, before.isOf(receiver),
      !before.database.isEmpty, let age = before.age(at: now, time), age < ReceiverKnowledge.databaseLife / 2
    {
      return
    }
    guard memory.present.savedInVain < KnowledgeOfRun.mostInVain else { return keeping.keep(knowledge) }
    let mayWrite =
      isAlone && (memory.present.writtenAt.map { now - $0 >= KnowledgeOfRun.leastBetweenWrites } ?? true)
    let kept: KeptKnowledge
    do throws(HardwareError) {
      if mayWrite, receiver.stopsToKeepKnowledge {
        // The receiver may stay stopped until its supply goes off. If the supply stays on, the next run starts the
        // receiver.
        (memory.present.asleep, memory.present.asleepSupply) = (.stop, suppliedSince)
      }
      kept = try receiver.keepKnowledge(
        channel, mayStop: mayWrite, hasBackup: before.map { $0.isInFlash && $0.isOf(receiver) } ?? false)
    } catch {
      keeping.keep(knowledge)
      throw error
    }
    take(kept, &knowledge, at: now)
    keeping.keep(knowledge)
  }

  private func take(_ kept: KeptKnowledge, _ knowledge: inout ReceiverKnowledge, at now: MonotonicInstant) {
    let consequence = "so it starts cold unless a battery keeps its memory"
    switch kept {
    case .database(let messages):
      knowledge.database = messages
      memory.present.savingProblem = nil
    case .inFlash:
      knowledge.isInFlash = true
      memory.present.writtenAt = now
      memory.present.savingProblem = nil
    case .nothing: return
    case .refused:
      memory.present.savedInVain += 1
      memory.present.savingProblem = "it does not report its satellite data, \(consequence)"
      return
    case .unanswered:
      memory.present.savedInVain += 1
      memory.present.savingProblem = "it did not report its satellite data in time, \(consequence)"
      return
    }
    memory.present.savedInVain = 0
  }
}
