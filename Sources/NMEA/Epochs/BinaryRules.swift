import UBX

/// Applies the messages of binary protocols to the epoch that they belong to.
extension EpochAssembler {
  /// Applies a message of a binary protocol.
  ///
  /// All messages of one solution state the same time of week (u-blox) or run time of the receiver (CASIC), so the
  /// beginning of an epoch need not be guessed. NAV-EOE marks the end of an epoch.
  ///
  /// - Parameter receive: called with the epoch that the message completes, before this method returns
  @discardableResult
  public mutating func consume(_ message: borrowing BinaryFrame, receive: (borrowing GNSSEpoch) -> Void) -> Outcome {
    beganAt = message.beganAt
    // The message states its epoch, so silences do not matter.
    followsSilence = false
    if takeAside(message) {
      used.endList()
      lastWasGSV = false
      // A heading opens no epoch, but it may be the last message of one. Without it, the epoch would not be complete.
      if message.format == .ubx, let baseline = NavigationRelativePosition(message), let epochStamp,
        !ofDay(baseline.timeOfWeekMilliseconds).isAnotherEpoch(than: epochStamp)
      {
        noteEnd(MessageCode(message), receive)
      }
      return .taken
    }
    var update = FixUpdate()
    let isKnown =
      switch message.format {
      case .ubx: apply(ubx: message, &update)
      case .casic: apply(casic: message, &update)
      case .rtcm3: false
      }
    used.endList()
    lastWasGSV = false
    guard isKnown else { return .unknown }
    take(MessageCode(message), &update, receive)
    if let satellites = NavigationSatellites(message), message.format == .ubx { takeSatellites(satellites) }
    if let signals = NavigationSignals(message) { takeSignals(signals) }
    if let satellites = CASICSatellites(message) { takeSatellites(satellites) }
    if message.format == .ubx, message.kind == UBXKind.navEOE { noteStatedEnd(receive) }
    return .taken
  }

  /// Applies a message that is about the receiver, and not about an epoch. Such a message opens and closes no epoch.
  ///
  /// - Returns: whether the message needs no further treatment
  private mutating func takeAside(_ message: borrowing BinaryFrame) -> Bool {
    let now = message.beganAt
    switch (message.format, message.kind) {
    case (.ubx, UBXKind.navSTATUS):
      guard let status = NavigationStatus(message) else { return false }
      interference.note(status.spoofing, at: now)
      // The message also states whether there is a fix. It is treated further only if no other message states that.
      return statesFix
    case (.ubx, UBXKind.monRF):
      guard let radio = RadioStatus(message), radio.count > 0 else { return false }
      var (jamming, indicator) = (JammingReport.unknown, UInt8(0))
      var antenna = AntennaStatus.unknown
      for index in 0..<radio.count {
        let band = radio[index]
        if band.jamming.rawValue > jamming.rawValue { jamming = band.jamming }
        indicator = max(indicator, band.jammingIndicator)
        if band.antennaStatus.rawValue > antenna.rawValue { antenna = band.antennaStatus }
      }
      interference.note(jamming, at: now)
      interference.note(indicator: indicator, at: now)
      interference.note(antenna)
    case (.ubx, UBXKind.monHW):
      guard let hardware = HardwareStatus(message) else { return false }
      interference.note(hardware.band.jamming, at: now)
      interference.note(indicator: hardware.band.jammingIndicator, at: now)
      interference.note(hardware.band.antennaStatus)
    case (.ubx, UBXKind.secSIG):
      guard let status = SecurityStatus(message) else { return false }
      interference.note(status, at: now)
    case (.ubx, UBXKind.esfSTATUS):
      guard let status = FusionStatus(message) else { return false }
      interference.note(status.mode, at: now)
    case (.ubx, UBXKind.navRELPOSNED):
      guard let baseline = NavigationRelativePosition(message) else { return false }
      antennaHeading.note(baseline.headingDegrees, sigma: baseline.headingAccuracyDegrees, at: now)
    case (.ubx, UBXKind.timTP):
      guard let pulse = TimePulse(message) else { return false }
      pulseErrorSeconds = pulse.quantisationErrorSeconds
    case (.casic, CASICKind.timTP):
      guard let pulse = CASICTimePulse(message) else { return false }
      pulseErrorSeconds = pulse.quantisationErrorSeconds
    // These messages are only for code that requests or records them.
    case (.ubx, UBXKind.rxmRAWX), (.ubx, UBXKind.rxmSFRBX), (.ubx, UBXKind.rxmRTCM), (.ubx, UBXKind.monVER),
      (.ubx, UBXKind.secUNIQID), (.ubx, UBXKind.esfMEAS), (.ubx, UBXKind.esfINS),
      (.casic, CASICKind.navSTATUS):
      break
    default: return false
    }
    return true
  }

  // MARK: u-blox

  private mutating func apply(ubx message: borrowing BinaryFrame, _ update: inout FixUpdate) -> Bool {
    switch message.kind {
    case UBXKind.navSTATUS:
      guard let status = NavigationStatus(message) else { return false }
      stamp(status.timeOfWeekMilliseconds, &update)
      update.mode = status.isFixOK ? FixMode(status.fixType) : .noFix
      update.status = FixStatus(status.fixType, isDifferential: status.isDifferential, status.carrier)
      return true
    case UBXKind.navPVT, UBXKind.hnrPVT:
      guard let solution = NavigationPVT(message) else { return false }
      statesFix = true
      stamp(solution.timeOfWeekMilliseconds, solution.date, &update)
      apply(solution, &update)
    case UBXKind.navSOL:
      guard let solution = NavigationSolution(message) else { return false }
      statesFix = true
      stamp(solution.timeOfWeekMilliseconds, solution.fractionNanoseconds, week: solution.week, &update)
      apply(solution, &update)
    case UBXKind.navPOSLLH, UBXKind.navHPPOSLLH:
      guard let position = NavigationPosition(message) else { return false }
      stamp(position.timeOfWeekMilliseconds, &update)
      apply(position, &update)
    case UBXKind.navVELNED:
      guard let velocity = NavigationVelocity(message) else { return false }
      stamp(velocity.timeOfWeekMilliseconds, &update)
      update.values.velocity = Velocity(northEastDown: velocity.velocityMetresPerSecond)
      update.values.speedMetresPerSecond = velocity.groundSpeedMetresPerSecond
      update.values.trackDegrees = Angle.onCircle(velocity.trackDegrees)
      update.values.speedErrorMetresPerSecond = velocity.speedAccuracyMetresPerSecond
      update.values.trackErrorDegrees = velocity.trackAccuracyDegrees
    case UBXKind.navTIMEGPS:
      guard let time = NavigationTime(message) else { return false }
      if let leapSeconds = time.leapSeconds { self.leapSeconds = Int64(leapSeconds) }
      if time.week != nil { update.values.timeErrorSeconds = seconds(time.timeAccuracyNanoseconds) }
      stamp(time.timeOfWeekMilliseconds, time.fractionNanoseconds, week: time.week, &update)
    case UBXKind.navTIMEUTC:
      guard let time = NavigationUTC(message) else { return false }
      if time.date != nil { update.values.timeErrorSeconds = seconds(time.timeAccuracyNanoseconds) }
      stamp(time.timeOfWeekMilliseconds, time.date, &update)
    case UBXKind.navDOP:
      guard let dilution = NavigationDilution(message) else { return false }
      stamp(dilution.timeOfWeekMilliseconds, &update)
      update.values.pdop = dilution.pdop
      update.values.hdop = dilution.hdop
      update.values.vdop = dilution.vdop
    case UBXKind.navCOV:
      guard let covariance = NavigationCovariance(message) else { return false }
      stamp(covariance.timeOfWeekMilliseconds, &update)
      if let variances = covariance.positionVariances {
        update.values.latitudeErrorMetres = variances.x.squareRoot()
        update.values.longitudeErrorMetres = variances.y.squareRoot()
        update.values.positionSigmas = SIMD3<Float>(variances.squareRoot())
      }
      if let variances = covariance.velocityVariances {
        update.values.velocitySigmas = SIMD3<Float>(variances.squareRoot())
      }
    case UBXKind.navSAT, UBXKind.navSVINFO:
      guard let satellites = NavigationSatellites(message) else { return false }
      stamp(satellites.timeOfWeekMilliseconds, &update)
    case UBXKind.navSIG:
      guard let signals = NavigationSignals(message) else { return false }
      stamp(signals.timeOfWeekMilliseconds, &update)
    case UBXKind.navEOE: return message.payload.count >= 4
    default: return false
    }
    return true
  }

  /// The accuracy in seconds; `nil` if the value stands for "unknown".
  private func seconds(_ accuracyNanoseconds: UInt32) -> Double? {
    accuracyNanoseconds > 0 && accuracyNanoseconds < 1_000_000_000 ? Double(accuracyNanoseconds) * 1e-9 : nil
  }

  /// Sets the stamp of the epoch from the time of week. The stamp is in UTC, so that sentences of the same instant
  /// belong to the same epoch.
  private mutating func stamp(_ timeOfWeekMilliseconds: UInt32, _ update: inout FixUpdate) {
    update.stamp = ofDay(timeOfWeekMilliseconds)
    update.concernsFix = true
  }

  /// The time of day in UTC of a time of the GPS week.
  private func ofDay(_ timeOfWeekMilliseconds: UInt32) -> TimeOfDay {
    let utc = Int64(timeOfWeekMilliseconds) - leapSeconds * 1000
    let milliseconds = (utc % 86_400_000 + 86_400_000) % 86_400_000
    return TimeOfDay(second: Int(milliseconds / 1000), nanosecond: Int(milliseconds % 1000) * 1_000_000)
  }

  private mutating func stamp(_ timeOfWeek: UInt32, _ date: NavigationDate?, _ update: inout FixUpdate) {
    stamp(timeOfWeek, &update)
    if let date { setTime(date, &update) }
  }

  private mutating func stamp(
    _ timeOfWeek: UInt32, _ fractionNanoseconds: Int32, week: Int16?, _ update: inout FixUpdate
  ) {
    stamp(timeOfWeek, &update)
    guard let week else { return }
    setTime(
      UTCTime(
        gpsWeek: week, timeOfWeekMilliseconds: timeOfWeek, fractionNanoseconds: fractionNanoseconds,
        leapSeconds: leapSeconds),
      &update)
  }

  private mutating func setTime(_ stated: NavigationDate, _ update: inout FixUpdate) {
    if let time = UTCTime(stated) { setTime(time, &update) }
  }

  private mutating func setTime(_ time: UTCTime, _ update: inout FixUpdate) {
    update.values.time = time
    // Sentences without a date use this date.
    let components = time.components
    date = components.date
    timeOfDay = TimeOfDay(
      second: components.hour * 3600 + components.minute * 60 + components.second, nanosecond: components.nanosecond)
  }

  private func apply(_ solution: borrowing NavigationPVT, _ update: inout FixUpdate) {
    let isFix = solution.isFixOK ? solution.isPositionValid : false
    update.mode = isFix ? FixMode(solution.fixType) : .noFix
    update.status = FixStatus(solution.fixType, isDifferential: solution.isDifferential, solution.carrier)
    update.values.satellitesUsed = solution.satellitesUsed
    update.values.pdop = solution.pdop
    // Sentences state the age of the corrections to a tenth of a second, so an age from a sentence stays.
    if fix.differentialAgeSeconds == nil { update.values.differentialAgeSeconds = solution.correctionAgeSeconds }
    if solution.date != nil { update.values.timeErrorSeconds = seconds(solution.timeAccuracyNanoseconds) }
    guard update.mode != .noFix else { return }
    guard let place = update.place(solution.latitudeDegrees, solution.longitudeDegrees) else {
      update.mode = .noFix
      return
    }
    update.values.position = place
    update.values.altitudeHAEMetres = solution.altitudeHAEMetres
    update.values.altitudeMSLMetres = solution.altitudeMSLMetres
    update.values.horizontalErrorMetres = solution.horizontalAccuracyMetres
    update.values.verticalErrorMetres = solution.verticalAccuracyMetres
    if let velocity = solution.velocityMetresPerSecond {
      update.values.velocity = Velocity(northEastDown: velocity)
      update.values.climbMetresPerSecond = -velocity.z
    }
    update.values.speedMetresPerSecond = solution.groundSpeedMetresPerSecond
    update.values.trackDegrees = Angle.onCircle(solution.trackDegrees)
    update.values.speedErrorMetresPerSecond = solution.speedAccuracyMetresPerSecond
    update.values.trackErrorDegrees = solution.trackAccuracyDegrees
  }

  private func apply(_ solution: borrowing NavigationSolution, _ update: inout FixUpdate) {
    // Receivers of protocol 13 and earlier reject most of their fixes by a limit of their own. As in gpsd, these fixes
    // count, with the error that the receiver states.
    update.mode = FixMode(solution.fixType)
    update.status = FixStatus(solution.fixType, isDifferential: solution.isDifferential, .none)
    update.values.satellitesUsed = solution.satellitesUsed
    update.values.pdop = solution.pdop
    guard update.mode != .noFix, let point = EarthCentredPoint(solution.positionMetres) else { return }
    update.values.position = point.coordinate
    update.values.altitudeHAEMetres = point.altitudeHAEMetres
    let velocity = point.northEastDown(solution.velocityMetresPerSecond)
    update.values.velocity = Velocity(northEastDown: velocity)
    update.values.climbMetresPerSecond = -velocity.z
    update.values.speedErrorMetresPerSecond = solution.speedAccuracyMetresPerSecond
    update.values.sphericalErrorMetres = solution.positionAccuracyMetres
  }

  private func apply(_ position: borrowing NavigationPosition, _ update: inout FixUpdate) {
    // These messages do not state whether there is a fix. Another message, which may follow, states it.
    guard modeSoFar(update) != .noFix,
      let place = update.place(position.latitudeDegrees, position.longitudeDegrees)
    else { return }
    update.values.position = place
    update.values.altitudeHAEMetres = position.altitudeHAEMetres
    update.values.altitudeMSLMetres = position.altitudeMSLMetres
    update.values.horizontalErrorMetres = position.horizontalAccuracyMetres
    update.values.verticalErrorMetres = position.verticalAccuracyMetres
  }

  private mutating func takeSatellites(_ stated: borrowing NavigationSatellites) {
    let hasSignals = signalsAt == stated.timeOfWeekMilliseconds
    // The signals arrived first, so `satellites` contains them.
    if hasSignals { swap(&satellites, &otherList) }
    satellites.removeAll()
    for index in 0..<stated.count {
      let entry = stated[index]
      guard let number = SatelliteNumber(ublox: entry.number, system: entry.system) else { continue }
      satellites.append(
        Satellite(
          number: number, signal: 0, elevationDegrees: entry.elevationDegrees, azimuthDegrees: entry.azimuthDegrees,
          signalStrength: entry.signalStrength, isUsed: entry.isUsed))
    }
    satellitesAt = stated.timeOfWeekMilliseconds
    if hasSignals { joinSignals() }
    skyIsComplete = satellites.count > 0
    skyStatesUse = true
  }

  /// Applies a list of signals. It contains more than a list of satellites, but no positions in the sky. The positions
  /// come from the list of satellites, if the receiver sends it.
  private mutating func takeSignals(_ stated: borrowing NavigationSignals) {
    otherList.removeAll()
    for index in 0..<stated.count {
      let entry = stated[index]
      guard let number = SatelliteNumber(ublox: entry.number, system: entry.system) else { continue }
      otherList.append(
        Satellite(
          number: number, signal: entry.signal, elevationDegrees: 0, azimuthDegrees: 0,
          signalStrength: entry.signalStrength, isUsed: entry.isUsed))
    }
    signalsAt = stated.timeOfWeekMilliseconds
    if satellitesAt != stated.timeOfWeekMilliseconds { satellites.removeAll() }
    joinSignals()
    skyIsComplete = satellites.count > 0
    skyStatesUse = true
  }

  /// Adds the known positions of the satellites to the signals in `otherList`, and makes the result the current list.
  private mutating func joinSignals() {
    otherList.join(satellites)
    swap(&satellites, &otherList)
  }

  // MARK: CASIC

  private mutating func apply(casic message: borrowing BinaryFrame, _ update: inout FixUpdate) -> Bool {
    if let solution = CASICNavigation(message) {
      begin(solution.runTimeMilliseconds, &update)
      apply(solution, &update)
    } else if let time = CASICTime(message) {
      begin(time.runTimeMilliseconds, &update)
      if let date = time.date {
        setTime(date, &update)
        epochStamp = timeOfDay
      }
    } else if let dilution = CASICDilution(message) {
      begin(dilution.runTimeMilliseconds, &update)
      update.values.pdop = dilution.pdop
      update.values.hdop = dilution.hdop
      update.values.vdop = dilution.vdop
    } else if let satellites = CASICSatellites(message) {
      begin(satellites.runTimeMilliseconds, &update)
    } else {
      return false
    }
    return true
  }

  /// Begins an epoch if the message belongs to another solution. All messages of one solution have the same run time of
  /// the receiver; the message with UTC comes last.
  private mutating func begin(_ runTimeMilliseconds: UInt32, _ update: inout FixUpdate) {
    update.beginsEpoch = runTime != runTimeMilliseconds
    update.concernsFix = true
    runTime = runTimeMilliseconds
  }

  private func apply(_ solution: borrowing CASICNavigation, _ update: inout FixUpdate) {
    switch solution.position {
    case .threeDimensional, .combined: update.mode = .threeDimensional
    case .twoDimensional, .deadReckoning, .quick: update.mode = .twoDimensional
    case .none, .external, .roughEstimate, .held: update.mode = .noFix
    }
    update.values.satellitesUsed = solution.satellitesUsed
    update.values.pdop = solution.pdop
    guard update.mode != .noFix else { return }
    guard let place = update.place(solution.latitudeDegrees, solution.longitudeDegrees) else {
      update.mode = .noFix
      return
    }
    update.status = solution.position == .deadReckoning ? .deadReckoning : .gnss
    update.values.position = place
    update.values.altitudeHAEMetres = solution.altitudeHAEMetres
    update.values.geoidSeparationMetres = solution.geoidSeparationMetres
    update.values.horizontalErrorMetres = solution.horizontalVarianceSquareMetres.squareRoot()
    update.values.verticalErrorMetres = solution.verticalVarianceSquareMetres.squareRoot()
    // A velocity is not a measurement if it is held from an earlier solution, estimated or given from outside.
    guard solution.velocity.isComputed else { return }
    let velocity = solution.velocityMetresPerSecond
    update.values.velocity = Velocity(northEastDown: SIMD3(velocity.x, velocity.y, -velocity.z))
    update.values.climbMetresPerSecond = velocity.z
    update.values.speedMetresPerSecond = solution.groundSpeedMetresPerSecond
    update.values.trackDegrees = Angle.onCircle(solution.trackDegrees)
    let variance = solution.groundSpeedVariance
    // The value of a million stands for "unknown".
    if variance > 0, variance < 1e4 { update.values.speedErrorMetresPerSecond = variance.squareRoot() }
  }

  private mutating func takeSatellites(_ stated: borrowing CASICSatellites) {
    let system: SatelliteSystem =
      switch stated.system {
      case .gps: .gps
      case .beidou: .beidou
      case .glonass: .glonass
      }
    // Each system has its own message, and the first message of a solution begins the list.
    if listedRunTime != stated.runTimeMilliseconds { satellites.removeAll() }
    listedRunTime = stated.runTimeMilliseconds
    for index in 0..<stated.count {
      let entry = stated[index]
      guard let number = SatelliteNumber(Int(entry.number), system: system) else { continue }
      satellites.append(
        Satellite(
          number: number, signal: 0, elevationDegrees: entry.elevationDegrees, azimuthDegrees: entry.azimuthDegrees,
          signalStrength: entry.signalStrength, isUsed: entry.isUsed))
    }
    skyIsComplete = satellites.count > 0
    skyStatesUse = true
  }
}

extension FixMode {
  fileprivate init(_ fixType: NavigationFixType) {
    switch fixType {
    case .none: self = .noFix
    case .deadReckoning, .twoDimensional: self = .twoDimensional
    case .threeDimensional, .combined, .timeOnly: self = .threeDimensional
    }
  }
}

extension FixStatus {
  fileprivate init(_ fixType: NavigationFixType, isDifferential: Bool, _ carrier: NavigationPVT.Carrier) {
    switch (fixType, carrier) {
    case (.none, _): self = .unknown
    case (.deadReckoning, _): self = .deadReckoning
    case (.timeOnly, _): self = .surveyed
    case (_, .fixed): self = .rtkFixed
    case (_, .float): self = .rtkFloat
    default: self = isDifferential ? .differential : .gnss
    }
  }
}

extension Velocity {
  fileprivate init(northEastDown velocity: SIMD3<Double>) {
    self.init(
      northMetresPerSecond: velocity.x, eastMetresPerSecond: velocity.y, downMetresPerSecond: velocity.z)
  }
}

extension SatelliteNumber {
  /// - Parameter system: u-blox's number of the system; `nil` for numbers that identify it themselves
  fileprivate init?(ublox number: UInt8, system: UInt8?) {
    let number = Int(number)
    guard let system else {
      // This is u-blox's own numbering over all systems (u-blox 8 interface description, appendix A, "UBX svId").
      switch number {
      case 1...32: self.init(number, system: nil)
      case 33...64: self.init(number - 27, system: .beidou)
      case 65...96: self.init(number - 64, system: .glonass)
      case 120...158: self.init(sbas: number)
      case 159...163: self.init(number - 158, system: .beidou)
      case 173...182, 193...202: self.init(number, system: nil)
      case 211...246: self.init(number - 210, system: .galileo)
      // The number 255 is a GLONASS satellite whose number is still unknown.
      default: return nil
      }
      return
    }
    // This is the numbering inside each system (u-blox F9 interface description, appendix A).
    switch (SatelliteSystem(rawValue: system), number) {
    case (.gps, 1...32): self.init(number, system: nil)
    case (.sbas, 120...158): self.init(sbas: number)
    case (.galileo, 1...36): self.init(number, system: .galileo)
    case (.beidou, 1...63): self.init(number, system: .beidou)
    case (.imes, 1...10): self.init(number + 172, system: nil)
    case (.qzss, 1...10): self.init(number, system: .qzss)
    case (.glonass, 1...32): self.init(number, system: .glonass)
    case (.navic, 1...14): self.init(number, system: .navic)
    default: return nil
    }
  }

  /// Converts the PRN of an SBAS satellite to NMEA's number, 33 to 64, as in gpsd. PRNs above 151 do not fit into this
  /// range, and stay unchanged.
  private init?(sbas number: Int) {
    self.init(number <= 151 ? number - 87 : number, system: nil)
  }
}
