/// Gathers the sentences of one epoch, those that carry one time stamp, into one `GNSSEpoch`, and reports each epoch
/// once, at its end.
///
/// Where receivers contradict themselves or leave things out, the rules are those of gpsd, whose judgement rests on
/// two decades of receivers; they stand with each sentence in `SentenceRules.swift`.
public struct EpochAssembler: ~Copyable {
  /// When an epoch is reported.
  public enum Promptness: Sendable {
    /// As soon as the sentence has come that ended the epochs before. For live use: saves up to a whole period.
    case learned
    /// When the next epoch begins, or at `finish`. For recordings: nothing can come late.
    case certain
  }

  /// What comes out.
  public enum Event {
    case epoch(GNSSEpoch)
    /// A compass or an attitude receiver has reported; not part of an epoch.
    case attitude(NMEAAttitude)
  }

  public private(set) var epochCount = 0

  let promptness: Promptness
  var detector = EndOfEpochDetector()
  /// The current epoch's fix, as far as it has come in.
  var fix = GNSSFix()
  /// The fix of the sentence before, and the last one of the epoch before.
  var lastFix = GNSSFix()
  var previousFix = GNSSFix()
  var date: CalendarDate?
  var timeOfDay: TimeOfDay?
  /// The stamp by which epochs are told apart.
  var epochStamp: TimeOfDay?
  var used = UsedSatellites()
  var sky = Sky()
  var skyIsComplete = false
  var errorStatistics: GNSSErrorStatistics?
  var attitude = NMEAAttitude()
  var lastGGA: (talker: Talker, time: TimeOfDay?)?
  var isClockStuck = false
  var lastWasGSV = false
  private var hasSomethingToReport = false
  private var isReported = false

  public init(promptness: Promptness = .learned) { self.promptness = promptness }

  /// Whether an epoch has begun that has not been reported.
  public var isPending: Bool { hasSomethingToReport && !isReported }

  /// Takes the next sentence.
  ///
  /// - Parameters:
  ///   - sentence: `nil` for one whose type is not known; it separates lists all the same
  ///   - receive: called with what the sentence completes, before this method returns
  public mutating func consume(_ sentence: Sentence?, receive: (borrowing Event) -> Void) {
    guard let sentence else {
      used.endList()
      lastWasGSV = false
      return
    }
    var update = FixUpdate()
    let hadAttitude = apply(sentence, &update)
    if sentence.kind != .gsv { lastWasGSV = false }
    if sentence.kind != .gsa { used.endList() }
    keepThirdDimension(&update)

    if beginsEpoch(sentence, update) { beginEpoch(receive) }
    if let stamp = update.stamp { epochStamp = stamp }
    merge(update)
    if update.concernsFix {
      if isReported { detector.wasWrong() }
      hasSomethingToReport = true
    }
    if endsOfItself(sentence) {
      detector.note(sentence.talker, sentence.kind)
      if promptness == .learned, !isReported, hasSomethingToReport, detector.expectsEnd { report(receive) }
    }
    if hadAttitude { receive(.attitude(attitude)) }
  }

  /// Reports the epoch that has begun, because the stream has ended or fallen silent.
  public mutating func finish(receive: (borrowing Event) -> Void) {
    if isPending { report(receive) }
  }

  private func beginsEpoch(_ sentence: Sentence, _ update: FixUpdate) -> Bool {
    if update.beginsEpoch { return true }
    if let stamp = update.stamp {
      return epochStamp.map { stamp.isAnotherEpoch(than: $0) } ?? true
    }
    // A receiver without a fix may have no time either; then its epochs repeat their first sentence.
    switch sentence.kind {
    case .gga, .rmc, .gns, .gll: return detector.hasSeen(sentence.talker, sentence.kind)
    default: return false
    }
  }

  private mutating func beginEpoch(_ receive: (borrowing Event) -> Void) {
    finish(receive: receive)
    detector.beginEpoch()
    fix = GNSSFix()
    attitude = NMEAAttitude()
    hasSomethingToReport = false
    isReported = false
  }

  private mutating func merge(_ update: FixUpdate) {
    fix.merge(update)
    if let time = fix.time, let before = lastFix.time, time != before { previousFix = lastFix }
    fix.derive(from: previousFix)
    if fix.time != nil { lastFix = fix }
  }

  /// A sentence that tells no more than that there is a fix (RMC, say) does not take the third dimension away.
  private func keepThirdDimension(_ update: inout FixUpdate) {
    guard let mode = update.mode, mode != .noFix, fix.mode == .threeDimensional else { return }
    if lastFix.hasAltitude || previousFix.hasAltitude { update.mode = .threeDimensional }
  }

  /// A list of satellites ends with its last sentence.
  private func endsOfItself(_ sentence: Sentence) -> Bool {
    if case .gsv(let gsv) = sentence.content { return gsv.sentenceIndex >= gsv.sentenceCount }
    return true
  }

  private mutating func report(_ receive: (borrowing Event) -> Void) {
    isReported = true
    epochCount += 1
    if fix.satellitesUsed == nil, used.count > 0 { fix.satellitesUsed = used.count }
    var epoch = GNSSEpoch(fix: fix, sky: nil, errorStatistics: errorStatistics)
    if skyIsComplete {
      epoch.sky = sky.marking(used)
      skyIsComplete = false
    }
    errorStatistics = nil
    receive(.epoch(epoch))
  }
}

extension GNSSFix {
  var hasAltitude: Bool { altitudeHAEMetres != nil || altitudeMSLMetres != nil }
}
