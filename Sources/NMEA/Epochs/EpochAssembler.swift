/// Gathers the sentences of an epoch, which share a time stamp, into one `GNSSEpoch`, and reports each epoch once, at
/// its end.
///
/// On a live line three things mark an end before the next epoch begins: the kind of sentence that ended earlier
/// epochs, a message that states the end (NAV-EOE), and silence. Recordings have no silences, so there an epoch ends
/// where the next one begins. The epochs and their positions are the same in both cases.
///
/// For receivers that contradict themselves or omit values, the rules follow gpsd, which has two decades of experience
/// with receivers. `SentenceRules.swift` explains each rule.
public struct EpochAssembler: ~Copyable, Sendable {
  /// The time at which an epoch is reported.
  public enum Promptness: Sendable {
    /// As soon as the sentence that ended earlier epochs has arrived. Use this for live sentences that have reading
    /// times. It reports an epoch earlier by up to the whole time between two epochs.
    case learned
    /// When the next epoch begins, or at `finish`. Use this for recordings, in which nothing can come late.
    case certain
  }

  public private(set) var epochCount = 0
  /// The counts of impossible values. The assembler leaves out these values.
  public private(set) var refused = RefusedValues()

  let promptness: Promptness
  var detector = EndOfEpochDetector()
  /// The part of the current epoch that has been received.
  private var epoch = GNSSEpoch(fix: GNSSFix(), sky: .empty, errorStatistics: nil, beganAt: 0)
  /// The fix after the previous sentence.
  var lastFix = FixMemory()
  /// The fix of the previous epoch.
  var previousFix = FixMemory()
  var date: CalendarDate?
  var timeOfDay: TimeOfDay?
  /// Whether the last ZDA stated date and time.
  var clockIsTold = false
  /// The time stamp of the current epoch, which distinguishes it from other epochs.
  var epochStamp: TimeOfDay?
  var used = UsedSatellites()
  var satellites = SatelliteList()
  /// A second list, which holds the signals of the satellites while the two lists are joined. Outside this step, its
  /// contents have no meaning.
  var otherList = SatelliteList()
  /// The time of week of the last list of satellites, milliseconds.
  var satellitesAt: UInt32?
  /// The time of week of the last list of signals, milliseconds.
  var signalsAt: UInt32?
  var skyIsComplete = false
  /// Whether the list of satellites itself states which satellites are used.
  var skyStatesUse = false
  /// The offset of GPS time from UTC in seconds. It has been 18 since 2017; a receiver may state another value.
  var leapSeconds: Int64 = 18
  /// Whether the receiver marks the ends of its epochs.
  private var statesEnds = false
  /// Whether the receiver has sent a message or sentence, other than NAV-STATUS, that states whether there is a fix.
  var statesFix = false
  /// The receiver's run time in the latest CASIC message, milliseconds. All messages of one solution have the same run
  /// time, so another value begins an epoch.
  var runTime: UInt32?
  /// The run time of the solution whose satellites are listed.
  var listedRunTime: UInt32?
  /// The reports of compasses and attitude receivers in the current epoch. They are not part of the epoch.
  public internal(set) var attitude = NMEAAttitude()
  var antennaHeading = AntennaHeadingMemory()
  var interference = InterferenceMemory()
  /// The error of the next pulse, as the receiver predicted it.
  var pulseErrorSeconds: Double?
  var lastGGA: (talker: Talker, time: TimeOfDay?)?
  var isClockStuck = false
  /// Whether the last sentence of the epoch with a fix status, apart from GSA, said that there is no fix.
  var isFixDenied = false
  private var refusedOfEpoch: StatedQuantities = []
  var lastWasGSV = false
  private var hasSomethingToReport = false
  private var isReported = false
  /// Whether the epoch began, after a silence, with a sentence without a time, so that the next time belongs to it.
  private var awaitsStamp = false
  /// The time between the last two epochs, by the receiver's clock, if it was at least 10 ms.
  private var periodNanoseconds: Int64?
  var beganAt: Int64 = 0
  /// Whether the current sentence came after a silence that is longer than any within an epoch.
  var followsSilence = false
  /// A GSA that arrived after its epoch had been reported.
  private var lateDilution: GSA?

  public init(promptness: Promptness = .learned) { self.promptness = promptness }

  /// Whether an epoch has begun and has not been reported.
  public var isPending: Bool { hasSomethingToReport && !isReported && !awaitsStamp }

  /// The longest pause of any receiver inside an epoch, nanoseconds.
  private static let longestPause: Int64 = 300_000_000
  /// The shortest silence that can end an epoch, nanoseconds. The usual delays of a busy machine are shorter.
  private static let shortestSilence: Int64 = 20_000_000

  /// The duration of silence, in nanoseconds, that ends the pending epoch; `nil` while nothing is pending, or if no
  /// sentence has stated yet whether there is a fix.
  public var silenceThatEnds: Int64? {
    guard isPending, fix.mode != .unknown else { return nil }
    return detector.hasSeenTheUsual ? silenceBetweenEpochs : EpochAssembler.longestPause
  }

  private var silenceBetweenEpochs: Int64 {
    guard let periodNanoseconds else { return EpochAssembler.longestPause }
    return min(max(periodNanoseconds / 2, EpochAssembler.shortestSilence), EpochAssembler.longestPause)
  }

  /// The result of applying a sentence.
  public enum Outcome: Sendable {
    /// The type is unknown, or fields are missing. The sentence still ends a list of satellites.
    case unknown
    case taken
    /// The sentence came from a compass or an attitude receiver, and `attitude` has changed.
    case changedAttitude
  }

  /// Parses a framed sentence and applies it.
  ///
  /// The six most frequent types do not become a `Sentence` on the way, because putting the payloads into the
  /// enumeration and taking them out again would cost a quarter of the whole decoding.
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

  /// Applies the next sentence; `nil` stands for an unknown sentence.
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

  /// Applies a list of satellites in view. It states nothing about the fix, but may end the epoch.
  private mutating func take(_ gsv: GSV, _ talker: Talker, _ receive: (borrowing GNSSEpoch) -> Void) {
    used.endList()
    if gsv.isLast { noteEnd(MessageCode(talker, .gsv), receive) }
  }

  /// Applies a parsed sentence. The sentence may open an epoch before it is applied, and close the epoch afterwards.
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

  /// Applies a binary message. The message may open an epoch before it is applied, and close the epoch afterwards.
  mutating func take(_ code: MessageCode, _ update: inout FixUpdate, _ receive: (borrowing GNSSEpoch) -> Void) {
    // A receiver with inertial sensors sends interpolated positions at once, and satellite positions later, with an
    // earlier time. In live use, only the dilutions and the number of satellites of such a late message count. In a
    // recording, a late position is an epoch of its own if the receiver states the ends of its epochs.
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

  /// Handles a stated end of the epoch. The receiver's messages in another protocol may still follow, so the epoch is
  /// reported only if the usual messages have arrived.
  mutating func noteStatedEnd(_ receive: (borrowing GNSSEpoch) -> Void) {
    statesEnds = true
    if promptness == .learned, isPending, detector.hasSeenTheUsual {
      detector.wasTakenAtItsWord()
      report(receive)
    }
  }

  /// Handles the end of a sentence or of a list of sentences, which may be the epoch's last.
  mutating func noteEnd(_ code: MessageCode, _ receive: (borrowing GNSSEpoch) -> Void) {
    detector.note(code)
    if promptness == .learned, isPending, detector.expectsEnd {
      detector.wasTakenAtItsWord()
      report(receive)
    }
  }

  /// Reports the pending epoch, if there is one. Call this when the stream has ended or fallen silent.
  public mutating func finish(receive: (borrowing GNSSEpoch) -> Void) {
    if isPending { report(receive) }
  }

  private mutating func beginsEpoch(_ talker: Talker, _ kind: Sentence.Kind, _ stamp: TimeOfDay?) -> Bool {
    guard let stamp else {
      // A receiver without a fix may have no time either. Then the repetition of its first sentence begins an epoch.
      guard kind.statesPosition else { return false }
      awaitsStamp = false
      return detector.hasSeen(MessageCode(talker, kind))
    }
    let isAnother = epochStamp.map { stamp.isAnotherEpoch(than: $0) } ?? true
    guard awaitsStamp else { return isAnother }
    awaitsStamp = false
    // The previous epoch continued after its silence, and has already been reported.
    if !isAnother { isReported = true }
    return false
  }

  /// Begins an epoch after a silence. The sentence belongs to the epoch of the sentences after it, even if it has no
  /// time.
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

  /// Handles a fact about the epoch that came after the epoch had been reported.
  private mutating func cameTooLate(_ update: borrowing FixUpdate) {
    detector.wasWrong()
    // Report the epoch again, because it was reported without this position.
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

  /// Keeps the third dimension of a fix if a sentence (RMC, for example) only says that there is a fix.
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
    fix.deriveVariation(earlier: lastFix.time)
    if fix.satellitesUsed == nil, used.count > 0 { fix.satellitesUsed = UInt8(clamping: used.count) }
    if skyIsComplete {
      if !skyStatesUse { satellites.mark(used) }
      epoch.sky = satellites.sky
    } else {
      // An incomplete list of satellites belongs to the next epoch.
      epoch.sky = .empty
    }
    skyIsComplete = false
    receive(epoch)
    epoch.errorStatistics = nil
  }
}

extension GNSSFix {
  var hasAltitude: Bool { altitudeHAEMetres != nil || altitudeMSLMetres != nil }

  /// Adds the dilutions that the fix does not have yet.
  fileprivate mutating func takeDilution(_ gsa: GSA) {
    pdop = pdop ?? DilutionOfPrecision.valid(gsa.pdop)
    hdop = hdop ?? DilutionOfPrecision.valid(gsa.hdop)
    vdop = vdop ?? DilutionOfPrecision.valid(gsa.vdop)
  }
}

/// The parts of an earlier fix that later sentences need.
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
