import HardwareIO
import MonotonicTime
import NMEA

/// The work of one run of a receiver that avoids cold starts if nothing but its supply keeps its memory: it sends the
/// receiver its earlier knowledge, and saves its knowledge before the supply is switched off.
///
/// The receiver works without any of this: failures are noted, and the receiver is read as usual.
final class KnowledgeOfRun {
  /// The supply waits for no longer than that.
  static let savingTime = Duration.seconds(2)
  /// Before that it has heard no satellite out.
  private static let leastTracking = Duration.seconds(30)
  /// A flash bears some ten thousand writes.
  private static let leastBetweenWrites = Duration.seconds(3600)
  /// After this number of missing answers the receiver is not asked any more.
  private static let mostInVain = 2

  private let keeping: KnowledgeKeeping
  private let memory: ReceiverMemory
  private let clock: any MonotonicTimeSource
  private let suppliedSince: MonotonicInstant
  private var firstFixAt: MonotonicInstant?
  private var last: (place: ReceiverKnowledge.Place, at: MonotonicInstant)?

  init(
    _ keeping: KnowledgeKeeping, _ memory: ReceiverMemory, clock: any MonotonicTimeSource,
    suppliedSince: MonotonicInstant
  ) {
    self.keeping = keeping
    self.memory = memory
    self.clock = clock
    self.suppliedSince = suppliedSince
  }

  /// What its owner should know of it.
  var problem: String? { memory.present.savingProblem ?? memory.present.givingProblem }

  func look(at observation: borrowing GNSSObservation) {
    let fix = observation.fix
    guard fix.mode >= .twoDimensional, !observation.isFrozen, !fix.interference.isSpoofed, let position = fix.position
    else { return }
    let stated = fix.positionSigmas.map { Double(max($0.x, $0.y)) } ?? fix.horizontalErrorMetres
    let place = ReceiverKnowledge.Place(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
      altitudeHAEMetres: fix.altitudeHAEMetres,
      sigmaMetres: max(
        stated ?? ReceiverKnowledge.Place.usualSigmaMetres, ReceiverKnowledge.Place.leastSigmaMetres))
    last = (place, observation.at)
    if firstFixAt == nil { firstFixAt = observation.at }
  }

  /// Its earlier knowledge may be the reason for its trouble, so it must not start with it again.
  func forget(of receiver: (any CommandedReceiver)?, _ dialogue: ReceiverDialogue?) throws(HardwareError) {
    guard let knowledge = keeping.present() else { return }
    keeping.keep(nil)
    if knowledge.isInFlash, let receiver, let dialogue { try receiver.clearBackup(dialogue) }
  }

  /// Once for each time that its supply came on.
  func giveBack(to receiver: any CommandedReceiver, _ dialogue: ReceiverDialogue) throws(HardwareError) {
    guard memory.present.givenSince != suppliedSince else { return }
    memory.present.givenSince = suppliedSince
    guard let knowledge = keeping.present(), knowledge.isOf(receiver) else { return }
    let time = keeping.time()
    guard let age = knowledge.age(at: clock.now, time) else { return }
    let isFresh = age < ReceiverKnowledge.databaseLife
    let given = GivenKnowledge(
      time: time, place: knowledge.place.aged(by: age), database: isFresh ? knowledge.database : [],
      isInFlash: isFresh && knowledge.isInFlash)
    switch try receiver.giveBack(given, dialogue) {
    case .refused: memory.present.givingProblem = "it does not accept its knowledge from before its supply went off"
    case .accepted, .answered: memory.present.givingProblem = nil
    case .otherwise, .unanswered, .stopped: break
    }
  }

  /// Before its supply goes.
  ///
  /// - Parameter isAlone: whether it goes for sure: else the receiver must not be stopped for that
  func save(from receiver: any CommandedReceiver, _ dialogue: ReceiverDialogue, isAlone: Bool) throws(HardwareError) {
    // Its earlier knowledge is kept until it has learnt something new.
    guard let last, let firstFixAt else { return }
    let now = clock.now
    guard let place = last.place.aged(by: now - last.at) else { return }
    let time = keeping.time()
    var knowledge = ReceiverKnowledge(
      receiver: receiver.name, uniqueID: receiver.identity.uniqueID, savedAt: time?.utc(at: now).nanosecondsSince1970,
      savedAtInstant: now, place: place)
    // Its ephemerides are those that it was sent; it has received no newer ones since.
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
      if mayWrite, receiver.driver == .ublox {
        // Until its supply goes it may be stopped; should that stay on, the next run starts it.
        (memory.present.asleep, memory.present.asleepSince) = (.stop, now)
      }
      kept = try receiver.keepKnowledge(
        dialogue, mayStop: mayWrite, hasBackup: before.map { $0.isInFlash && $0.isOf(receiver) } ?? false)
    } catch {
      keeping.keep(knowledge)
      throw error
    }
    take(kept, &knowledge, at: now)
    keeping.keep(knowledge)
  }

  private func take(_ kept: KeptKnowledge, _ knowledge: inout ReceiverKnowledge, at now: MonotonicInstant) {
    let consequence = "so that it starts cold where nothing else keeps its memory"
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
      memory.present.savingProblem = "it does not report its knowledge of the satellites, \(consequence)"
      return
    case .unanswered:
      memory.present.savedInVain += 1
      memory.present.savingProblem = "it did not report its knowledge of the satellites in time, \(consequence)"
      return
    }
    memory.present.savedInVain = 0
  }
}
