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

  public private(set) var epochCount = 0

  let promptness: Promptness
  var detector = EndOfEpochDetector()
  /// The current epoch, as far as it has come in.
  private var epoch = GNSSEpoch(fix: GNSSFix(), sky: nil, errorStatistics: nil)
  /// What is remembered of the fix after the sentence before, and of the epoch before.
  var lastFix = FixMemory()
  var previousFix = FixMemory()
  var date: CalendarDate?
  var timeOfDay: TimeOfDay?
  /// The stamp by which epochs are told apart.
  var epochStamp: TimeOfDay?
  var used = UsedSatellites()
  var sky = Sky()
  var skyIsComplete = false
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
  ///   - receive: called with the epoch that the sentence completes, before this method returns
  /// - Returns: the attitude, where the sentence came from a compass or an attitude receiver and changed it.
  @discardableResult
  public mutating func consume(_ sentence: Sentence?, receive: (borrowing GNSSEpoch) -> Void) -> NMEAAttitude? {
    guard let sentence else {
      used.endList()
      lastWasGSV = false
      return nil
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
    return hadAttitude ? attitude : nil
  }

  /// Reports the epoch that has begun, because the stream has ended or fallen silent.
  public mutating func finish(receive: (borrowing GNSSEpoch) -> Void) {
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

  var fix: GNSSFix {
    @inline(__always) get { epoch.fix }
    @inline(__always) _modify { yield &epoch.fix }
  }

  var errorStatistics: GNSSErrorStatistics? {
    get { epoch.errorStatistics }
    set { epoch.errorStatistics = newValue }
  }

  private mutating func beginEpoch(_ receive: (borrowing GNSSEpoch) -> Void) {
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
    if fix.time != nil { lastFix = FixMemory(fix) }
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

  private mutating func report(_ receive: (borrowing GNSSEpoch) -> Void) {
    isReported = true
    epochCount += 1
    if fix.satellitesUsed == nil, used.count > 0 { fix.satellitesUsed = UInt8(used.count) }
    if skyIsComplete {
      sky.mark(used)
      epoch.sky = sky
    } else if epoch.sky != nil {
      epoch.sky = nil
    }
    skyIsComplete = false
    receive(epoch)
    epoch.errorStatistics = nil
  }
}

extension GNSSFix {
  var hasAltitude: Bool { altitudeHAEMetres != nil || altitudeMSLMetres != nil }
}

/// What later sentences need of an earlier fix.
struct FixMemory: Sendable {
  var time: UTCTime?
  var mode = FixMode.unknown
  var position: Coordinate?
  var altitudeHAEMetres: Double?
  var hasAltitude = false

  init() {}

  init(_ fix: GNSSFix) {
    time = fix.time
    mode = fix.mode
    position = fix.position
    altitudeHAEMetres = fix.altitudeHAEMetres
    hasAltitude = fix.hasAltitude
  }
}
