/// Gathers the sentences of one epoch, those that carry one time stamp, into one `GNSSEpoch`, and reports each epoch
/// once, at its end.
///
/// On a live line two things mark an end: the kind of sentence that ended the epochs before, and silence. Recordings
/// have no silences: there an epoch ends where the next one begins. The epochs and their positions are the same in both
/// cases.
///
/// If receivers contradict themselves or leave things out, the rules are those of gpsd, which rest on two decades of
/// receivers. They are next to each sentence in `SentenceRules.swift`.
public struct EpochAssembler: ~Copyable, Sendable {
  /// When an epoch is reported.
  public enum Promptness: Sendable {
    /// As soon as the sentence has come that ended the epochs before. For live use, with sentences that say when they
    /// were read: saves up to a whole period.
    case learned
    /// When the next epoch begins, or at `finish`. For recordings: nothing can come late.
    case certain
  }

  public private(set) var epochCount = 0
  /// Values that cannot be true and were left out.
  public private(set) var refused = RefusedValues()

  let promptness: Promptness
  var detector = EndOfEpochDetector()
  /// The part of the current epoch that has been received.
  private var epoch = GNSSEpoch(fix: GNSSFix(), sky: .empty, errorStatistics: nil, beganAt: 0)
  /// The fix after the previous sentence, and that of the previous epoch.
  var lastFix = FixMemory()
  var previousFix = FixMemory()
  var date: CalendarDate?
  var timeOfDay: TimeOfDay?
  /// The last ZDA stated date and time.
  var clockIsTold = false
  /// The stamp by which epochs are told apart.
  var epochStamp: TimeOfDay?
  var used = UsedSatellites()
  var satellites = SatelliteList()
  /// The signals of the satellites while both are put together; memory for that otherwise.
  var otherList = SatelliteList()
  /// The time of week of the last list of satellites, and of the last one of signals, milliseconds.
  var satellitesAt: UInt32?
  var signalsAt: UInt32?
  var skyIsComplete = false
  /// The list of satellites says itself which are used.
  var skyStatesUse = false
  /// The offset of GPS time from UTC: its value since 2017, until a receiver states another.
  var leapSeconds: Int64 = 18
  /// The receiver says where its epochs end.
  private var statesEnds = false
  /// It has a message or a sentence of its solution that says whether there is a fix.
  var statesFix = false
  /// By which messages of CASIC tell their solutions apart.
  var runTime: UInt32?
  /// Of the solution whose satellites are listed.
  var listedRunTime: UInt32?
  /// What compasses and attitude receivers said in the current epoch; not a part of it.
  public internal(set) var attitude = NMEAAttitude()
  var antennaHeading = AntennaHeadingMemory()
  var interference = InterferenceMemory()
  /// Of the next pulse, as the receiver has foretold it.
  var pulseErrorSeconds: Double?
  var lastGGA: (talker: Talker, time: TimeOfDay?)?
  var isClockStuck = false
  /// A sentence of the current epoch has said that there is no fix.
  var isFixDenied = false
  private var refusedOfEpoch: StatedQuantities = []
  var lastWasGSV = false
  private var hasSomethingToReport = false
  private var isReported = false
  /// The epoch began, after a silence, with a sentence that has no time: the next time is its own.
  private var awaitsStamp = false
  /// Between the last two epochs, by the receiver's clock.
  private var periodNanoseconds: Int64?
  var beganAt: Int64 = 0
  /// The sentence came after a silence that is longer than any within an epoch.
  var followsSilence = false
  /// Came after the epoch that it belonged to had been reported.
  private var lateDilution: GSA?

  public init(promptness: Promptness = .learned) { self.promptness = promptness }

  /// Whether an epoch has begun that has not been reported.
  public var isPending: Bool { hasSomethingToReport && !isReported && !awaitsStamp }

  /// No receiver pauses for this long inside an epoch.
  private static let longestPause: Int64 = 300_000_000
  /// A busy machine is this late now and then.
  private static let shortestSilence: Int64 = 20_000_000

  /// After how long a silence the pending epoch is over, in nanoseconds; `nil` while nothing is pending, or only what
  /// says nothing of a position yet.
  public var silenceThatEnds: Int64? {
    guard isPending, fix.mode != .unknown else { return nil }
    return detector.hasSeenTheUsual ? silenceBetweenEpochs : EpochAssembler.longestPause
  }

  private var silenceBetweenEpochs: Int64 {
    guard let periodNanoseconds else { return EpochAssembler.longestPause }
    return min(max(periodNanoseconds / 2, EpochAssembler.shortestSilence), EpochAssembler.longestPause)
  }

  /// What became of a sentence.
  public enum Outcome: Sendable {
    /// Its type is not known, or it lacks fields; it separates lists all the same.
    case unknown
    case taken
    /// It came from a compass or an attitude receiver: `attitude` has changed.
    case changedAttitude
  }

  /// Parses a framed sentence and applies it.
  ///
  /// The six types that make up nearly all sentences do not become a `Sentence` on the way: putting the payloads into
  /// the enumeration and taking them out again would cost a quarter of the whole decoding.
  ///
  /// - Parameter receive: called with the epoch that the sentence completes, before this method returns
  @discardableResult
  public mutating func consume(_ raw: RawSentence, receive: (borrowing GNSSEpoch) -> Void) -> Outcome {
    followsSilence = promptness == .learned && raw.silence >= silenceBetweenEpochs
    beganAt = raw.beganAt
    let address = raw.address
    guard raw.isStandard else { return consume(Sentence(raw), receive: receive) }
    let talker = Talker(address[0], address[1])
    var fields = FieldReader(raw.body(addressLength: 5), count: raw.fieldCount)
    let formatter = Formatter(address[2], address[3], address[4])
    if formatter == Formatter("GSV") {
      guard let gsv = GSV(&fields) else { return separate() }
      if gsv.sentenceIndex == 1 { beginAfterSilence(receive) }
      apply(gsv, talker)
      take(gsv, talker, receive)
      return .taken
    }
    var update = FixUpdate()
    switch formatter {
    case "GSA":
      guard let gsa = GSA(&fields) else { return separate() }
      apply(gsa, talker, &update)
      if isReported { lateDilution = gsa }
      take(talker, .gsa, &update, receive)
    case "RMC":
      guard let rmc = RMC(&fields) else { return separate() }
      apply(rmc, &update)
      take(talker, .rmc, &update, receive)
    case "GGA":
      guard let gga = GGA(&fields) else { return separate() }
      apply(gga, talker, &update)
      take(talker, .gga, &update, receive)
    case "VTG":
      guard let vtg = VTG(&fields) else { return separate() }
      apply(vtg, &update)
      take(talker, .vtg, &update, receive)
    case "GLL":
      guard let gll = GLL(&fields) else { return separate() }
      apply(gll, &update)
      take(talker, .gll, &update, receive)
    default: return consume(Sentence(raw), receive: receive)
    }
    return .taken
  }

  /// Takes the next sentence; `nil` stands for one that is not known.
  @discardableResult
  public mutating func consume(_ sentence: Sentence?, receive: (borrowing GNSSEpoch) -> Void) -> Outcome {
    guard let sentence else { return separate() }
    var update = FixUpdate()
    let changedAttitude = apply(sentence, &update)
    if changedAttitude { note(refused: attitude.refuse()) }
    if case .gsv(let gsv) = sentence.content {
      take(gsv, sentence.talker, receive)
    } else {
      take(sentence.talker, sentence.kind, &update, receive)
    }
    return changedAttitude ? .changedAttitude : .taken
  }

  private mutating func separate() -> Outcome {
    used.endList()
    lastWasGSV = false
    return .unknown
  }

  /// Takes note of satellites in view: they say nothing about the fix, but they may end the epoch.
  private mutating func take(_ gsv: GSV, _ talker: Talker, _ receive: (borrowing GNSSEpoch) -> Void) {
    used.endList()
    if gsv.isLast { noteEnd(MessageCode(talker, .gsv), receive) }
  }

  /// Applies a parsed sentence, opening and closing epochs around it.
  private mutating func take(
    _ talker: Talker, _ kind: Sentence.Kind, _ update: inout FixUpdate,
    _ receive: (borrowing GNSSEpoch) -> Void
  ) {
    lastWasGSV = false
    if kind.statesPosition { statesFix = true }
    if kind != .gsa { used.endList() }
    keepThirdDimension(&update)

    if update.beginsEpoch || beginsEpoch(talker, kind, update.stamp) {
      beginEpoch(receive)
    } else if update.stamp == nil, update.concernsFix, !kind.statesPosition {
      beginAfterSilence(receive)
    }
    if let stamp = update.stamp { setStamp(stamp) }
    if update.concernsFix {
      if isReported, update.isSubstantial, kind != .gsa { cameTooLate(update) }
      merge(&update)
    }
    noteEnd(MessageCode(talker, kind), receive)
  }

  /// Applies a binary message, opening and closing epochs around it.
  mutating func take(_ code: MessageCode, _ update: inout FixUpdate, _ receive: (borrowing GNSSEpoch) -> Void) {
    // A receiver that gives positions in between by its inertial sensors is late with those by satellites. Live these are of no
    // use any more; in a recording they are epochs, once it is clear where the receiver's end.
    if let stamp = update.stamp, let epochStamp, stamp.isShortlyBefore(epochStamp),
      promptness == .learned || !statesEnds || !update.isSubstantial
    {
      update.keepDilutions()
    }
    let isAnother = update.stamp.map { stamp in epochStamp.map { stamp.isAnotherEpoch(than: $0) } ?? true } ?? false
    if update.beginsEpoch || isAnother { beginEpoch(receive) }
    awaitsStamp = false
    if let stamp = update.stamp { setStamp(stamp) }
    if update.concernsFix {
      if isReported, update.isSubstantial { cameTooLate(update) }
      merge(&update)
    }
    noteEnd(code, receive)
  }

  /// The receiver says that the epoch is over; its messages in another protocol may still follow.
  mutating func noteStatedEnd(_ receive: (borrowing GNSSEpoch) -> Void) {
    statesEnds = true
    if promptness == .learned, isPending, detector.hasSeenTheUsual {
      detector.wasTakenAtItsWord()
      report(receive)
    }
  }

  /// A sentence, or a list of them, is complete: it may be the epoch's last.
  private mutating func noteEnd(_ code: MessageCode, _ receive: (borrowing GNSSEpoch) -> Void) {
    detector.note(code)
    if promptness == .learned, isPending, detector.expectsEnd {
      detector.wasTakenAtItsWord()
      report(receive)
    }
  }

  /// Reports the epoch that has begun, because the stream has ended or fallen silent.
  public mutating func finish(receive: (borrowing GNSSEpoch) -> Void) {
    if isPending { report(receive) }
  }

  private mutating func beginsEpoch(_ talker: Talker, _ kind: Sentence.Kind, _ stamp: TimeOfDay?) -> Bool {
    guard let stamp else {
      // A receiver without a fix may have no time either; then its epochs repeat their first sentence.
      guard kind.statesPosition else { return false }
      awaitsStamp = false
      return detector.hasSeen(MessageCode(talker, kind))
    }
    let isAnother = epochStamp.map { stamp.isAnotherEpoch(than: $0) } ?? true
    guard awaitsStamp else { return isAnother }
    awaitsStamp = false
    // After all it was the epoch before that went on after its silence, and that has been reported.
    if !isAnother { isReported = true }
    return false
  }

  /// A sentence after a silence belongs to the sentences that follow it, even if it has no time of its own.
  private mutating func beginAfterSilence(_ receive: (borrowing GNSSEpoch) -> Void) {
    guard followsSilence, isReported || isPending else { return }
    beginEpoch(receive)
    awaitsStamp = true
  }

  private mutating func setStamp(_ stamp: TimeOfDay) {
    if let epochStamp {
      let period = stamp.nanoseconds(since: epochStamp)
      if period >= TimeOfDay.leastBetweenEpochs { periodNanoseconds = period }
    }
    epochStamp = stamp
  }

  /// Something that the epoch should have said came after it had been reported.
  private mutating func cameTooLate(_ update: borrowing FixUpdate) {
    detector.wasWrong()
    // A position is not lost for that: the epoch is reported once more, with it.
    if fix.mode < .twoDimensional, update.values.position != nil { isReported = false }
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
    if promptness == .learned { detector.beginEpoch() } else { detector.forgetEpoch() }
    fix = GNSSFix()
    epoch.beganAt = beganAt
    attitude = NMEAAttitude()
    isFixDenied = false
    refusedOfEpoch = []
    hasSomethingToReport = false
    isReported = false
  }

  private mutating func merge(_ update: inout FixUpdate) {
    // The first epoch may begin with a sentence without a time.
    if epoch.beganAt == 0 { epoch.beganAt = beganAt }
    hasSomethingToReport = true
    update.refuse()
    note(refused: update.refused)
    if update.mode != nil { isFixDenied = update.deniesFix }
    epoch.fix.merge(&update)
    if let time = fix.time, let before = lastFix.time, time != before { previousFix = lastFix }
    fix.derive(from: previousFix)
    if fix.time != nil { lastFix = FixMemory(fix) }
  }

  mutating func note(refused quantities: StatedQuantities) {
    refused.note(quantities)
    refusedOfEpoch.formUnion(quantities)
  }

  /// A sentence that only says that there is a fix (RMC, for example) does not remove the third dimension.
  private mutating func keepThirdDimension(_ update: inout FixUpdate) {
    guard let mode = update.mode, mode != .noFix, fix.mode == .threeDimensional else { return }
    if lastFix.hasAltitude || previousFix.hasAltitude { update.mode = .threeDimensional }
  }

  private mutating func report(_ receive: (borrowing GNSSEpoch) -> Void) {
    isReported = true
    epochCount += 1
    fix.interference = interference.present(at: epoch.beganAt)
    fix.receiverFusion = interference.fusion(at: epoch.beganAt)
    fix.antennaHeading = antennaHeading.take(epochBeganAt: epoch.beganAt)
    fix.pulseErrorSeconds = pulseErrorSeconds
    pulseErrorSeconds = nil
    if let lateDilution {
      fix.takeDilution(lateDilution)
      self.lateDilution = nil
    }
    fix.leaveOut(refusedOfEpoch)
    if fix.satellitesUsed == nil, used.count > 0 { fix.satellitesUsed = UInt8(clamping: used.count) }
    if skyIsComplete {
      if !skyStatesUse { satellites.mark(used) }
      epoch.sky = satellites.sky
    } else {
      // A list that has only begun belongs to the next epoch.
      epoch.sky = .empty
    }
    skyIsComplete = false
    receive(epoch)
    epoch.errorStatistics = nil
  }
}

extension GNSSFix {
  var hasAltitude: Bool { altitudeHAEMetres != nil || altitudeMSLMetres != nil }

  /// Values that the fix itself does not state.
  fileprivate mutating func takeDilution(_ gsa: GSA) {
    pdop = pdop ?? DilutionOfPrecision.valid(gsa.pdop)
    hdop = hdop ?? DilutionOfPrecision.valid(gsa.hdop)
    vdop = vdop ?? DilutionOfPrecision.valid(gsa.vdop)
  }
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
