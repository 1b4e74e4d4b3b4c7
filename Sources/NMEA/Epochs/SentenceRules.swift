/// Applies the sentences to the epoch that they belong to.
extension EpochAssembler {
  /// Adds a sentence to `update`.
  ///
  /// - Returns: whether the sentence also changed the attitude
  mutating func apply(_ sentence: Sentence, _ update: inout FixUpdate) -> Bool {
    switch sentence.content {
    case .gga(let gga): apply(gga, sentence.talker, &update)
    case .rmc(let rmc): apply(rmc, &update)
    case .gsa(let gsa): apply(gsa, sentence.talker, &update)
    case .gsv(let gsv): apply(gsv, sentence.talker)
    case .gll(let gll): apply(gll, &update)
    case .gns(let gns): apply(gns, sentence.talker, &update)
    case .vtg(let vtg): apply(vtg, &update)
    case .zda(let zda):
      clockIsTold = zda.time != nil && zda.date != nil
      guard let time = zda.time, let date = zda.date else { break }
      stamp(time, on: date, &update)
    case .gst(let gst):
      let time = gst.time.flatMap { time in date(at: time).map { UTCTime(date: $0, time: time) } }
      var possible = gst
      note(refused: possible.refuse())
      errorStatistics = GNSSErrorStatistics(time: time, statistics: possible)
    case .gbs(let gbs): apply(gbs, &update)
    case .airohaJamming(let report):
      if report.isOtherBand {
        interference.note(otherBand: report.state, at: beganAt)
      } else {
        interference.note(report.state, at: beganAt)
      }
    case .bwc(let bwc):
      guard let time = bwc.time else { break }
      setTime(time, &update)
      update.concernsFix = true
    case .grs(let grs): if let time = grs.time { goOn(to: time) }
    case .depth(let depth):
      update.values.depthMetres = depth.depthMetres
      update.concernsFix = depth.depthMetres != nil
    case .mtw(let water):
      update.values.waterTemperatureCelsius = water.temperatureCelsius
      update.concernsFix = water.temperatureCelsius != nil
    case .garminErrorEstimate(let estimate): apply(estimate, &update)
    case .garminAltitude(let altitude):
      update.values.altitudeMSLMetres = altitude.altitudeMSLMetres
      update.mode = altitude.mode
      update.concernsFix = true
    case .garminVelocity(let garmin):
      update.values.velocity = garmin.velocity
      update.concernsFix = true
    case .garminFix(let garmin): apply(garmin, &update)
    case .pashr(.position(let position)): apply(position, &update)
    case .psti(let psti): return apply(psti, &update)
    case .pubx(let pubx): apply(pubx, &update)
    case .sirfErrorEstimate(let estimate): apply(estimate, &update)
    case .quectelErrorEstimate(let estimate): apply(estimate, &update)
    case .quectelAttitude(let quectel):
      antennaHeading.note(quectel.headingDegrees, sigma: quectel.headingSigmaDegrees, at: beganAt)
    case .ksxt(let unicore): antennaHeading.note(unicore.headingDegrees, at: beganAt)
    case .uniHeading(let unicore):
      antennaHeading.note(unicore.headingDegrees, sigma: unicore.sigmaDegrees, at: beganAt)
    case .heading(let heading):
      // A magnetic compass has its own errors, even if it corrects for the variation, so its heading is not stored as
      // an antenna's.
      if heading.isMeasured, sentence.talker != .magneticCompass {
        antennaHeading.note(heading.trueDegrees, at: beganAt)
      }
      attitude.headingDegrees = heading.trueDegrees ?? attitude.headingDegrees
      attitude.magneticHeadingDegrees = heading.magneticDegrees ?? attitude.magneticHeadingDegrees
      return heading.trueDegrees != nil || heading.magneticDegrees != nil
    case .rot(let rot):
      attitude.rateOfTurnDegreesPerMinute = rot.degreesPerMinute ?? attitude.rateOfTurnDegreesPerMinute
      return rot.degreesPerMinute != nil
    case .xdr(let xdr): return apply(xdr)
    case .pashr(.attitude(let pashr)):
      attitude.headingDegrees = pashr.headingDegrees ?? attitude.headingDegrees
      attitude.rollDegrees = pashr.rollDegrees ?? attitude.rollDegrees
      attitude.pitchDegrees = pashr.pitchDegrees ?? attitude.pitchDegrees
      return true
    case .txt(let txt): if let status = txt.antennaStatus { interference.note(status) }
    case .dtm, .wind, .sti, .mediaTekAcknowledgement: break
    }
    return false
  }

  /// Returns the date of a time from a sentence without a date. Not every epoch has a sentence with the date, so it is
  /// derived from the last known date and time.
  private func date(at time: TimeOfDay) -> CalendarDate? {
    guard let timeOfDay else { return date }
    if time.isNextDay(after: timeOfDay) { return date?.next }
    // A sentence of the second before midnight may come late.
    return time.isPreviousDay(before: timeOfDay) ? date?.previous : date
  }

  /// The fix mode that earlier messages of the same epoch have stated; `unknown` if the update begins an epoch or has
  /// no stamp.
  func modeSoFar(_ update: borrowing FixUpdate) -> FixMode {
    guard let stamp = update.stamp, let epochStamp, !stamp.isAnotherEpoch(than: epochStamp) else { return .unknown }
    return fix.mode
  }

  private mutating func goOn(to time: TimeOfDay) {
    date = date(at: time)
    timeOfDay = time
  }

  /// Sets the time of day, and the epoch's time once the date is known.
  private mutating func setTime(_ time: TimeOfDay, _ update: inout FixUpdate) {
    goOn(to: time)
    if let date { update.values.time = UTCTime(date: date, time: time) }
  }

  /// Sets the time and the stamp of the epoch from a sentence whose time identifies its epoch.
  ///
  /// - Parameter day: the day, if the sentence states it
  private mutating func stamp(_ time: TimeOfDay, on day: CalendarDate? = nil, _ update: inout FixUpdate) {
    if let day {
      date = day
      timeOfDay = time
    }
    setTime(time, &update)
    update.stamp = time
    update.concernsFix = true
  }

  /// Removes the time, because the receiver has lost its clock. If ZDA states the time, this function does nothing,
  /// because other sentences may omit the time only because there is no fix.
  private mutating func forgetTime(_ update: inout FixUpdate) {
    if clockIsTold { return }
    date = nil
    timeOfDay = nil
    update.clearsTime = true
  }

  mutating func apply(_ gga: GGA, _ talker: Talker, _ update: inout FixUpdate) {
    update.concernsFix = true
    if gga.quality == .invalid, gga.time == nil { forgetTime(&update) }
    update.status = gga.quality.map { FixStatus($0) } ?? .unknown
    // Some receivers that lose reception repeat their last GGA with its time, and send an untrustworthy GSA. Receivers
    // that send one GGA for each system, all with one talker, cannot be distinguished from them.
    isClockStuck =
      if let lastGGA { lastGGA.talker == talker && lastGGA.time == gga.time } else { gga.time == nil }
    if isClockStuck { update.status = .unknown } else { lastGGA = (talker, gga.time) }
    if let time = gga.time { stamp(time, &update) }

    update.values.satellitesUsed = gga.satellitesUsed
    update.mode = .noFix
    // Without a fix, the position in the sentence is not a measurement. It may be the last position, a position from an
    // almanac, or a default of the manufacturer.
    update.deniesFix = gga.quality == nil || gga.quality == .invalid
    if let quality = gga.quality, quality != .invalid, let position = gga.position {
      update.values.position = position
      update.values.geoidSeparationMetres =
        gga.geoidSeparationMetres ?? EarthModel.geoidSeparationMetres(at: position)
      update.values.altitudeMSLMetres = gga.altitudeMSLMetres
      // GSA decides between two and three dimensions, but not every receiver sends it, and not in every epoch.
      if gga.satellitesUsed >= 3 {
        update.mode = gga.altitudeMSLMetres != nil && gga.satellitesUsed >= 4 ? .threeDimensional : .twoDimensional
      } else if quality.needsNoSatellites {
        // A position without satellites may be valid. If another sentence of the epoch has stated a mode, that mode
        // stays.
        update.mode = modeSoFar(update) == .unknown ? .twoDimensional : nil
      }
    }
    update.values.hdop = gga.hdop
    if let age = gga.differentialAgeSeconds, let station = gga.differentialStation, age > 0.09 || station > 0 {
      update.values.differentialAgeSeconds = age
      update.values.differentialStation = station
    }
  }

  mutating func apply(_ rmc: RMC, _ update: inout FixUpdate) {
    update.concernsFix = true
    guard rmc.isValid else {
      // The time next to an invalid position is not trustworthy either, because some chips invent it.
      update.mode = .noFix
      update.deniesFix = true
      if rmc.time == nil || !rmc.hasDateField { forgetTime(&update) }
      return
    }
    if let time = rmc.time, let date = rmc.date { stamp(time, on: date, &update) }
    if let position = rmc.position {
      update.values.position = position
      update.status = .gnss
      update.mode = lastFix.mode == .threeDimensional ? .threeDimensional : .twoDimensional
    } else {
      update.status = .unknown
      update.mode = .noFix
    }
    update.values.speedMetresPerSecond = rmc.speedMetresPerSecond
    update.values.trackDegrees = rmc.trackDegrees
    // Many receivers use zero for "unknown".
    update.values.magneticVariationDegrees = rmc.magneticVariationDegrees.flatMap { abs($0) > 0.09 ? $0 : nil }
    if let mode = rmc.mode { update.status = FixStatus(mode) }
    // RMC does not distinguish two and three dimensions.
    if used.count > 3 || fix.hasAltitude { update.mode = .threeDimensional }
  }

  mutating func apply(_ gll: GLL, _ update: inout FixUpdate) {
    update.concernsFix = true
    if let time = gll.time { stamp(time, &update) }
    guard gll.status == .valid, gll.mode != .invalid, let position = gll.position else {
      update.mode = .noFix
      update.deniesFix = true
      update.status = .unknown
      return
    }
    update.values.position = position
    update.status = gll.mode.map { FixStatus($0) } ?? .gnss
    if fix.hasAltitude || used.count > 3 {
      update.mode = .threeDimensional
    } else if fix.mode < .twoDimensional || !previousFix.hasAltitude {
      update.mode = .twoDimensional
    } else {
      // Keep the present mode, because this may be the first sentence of the next epoch.
      update.mode = fix.mode
    }
  }

  private mutating func apply(_ gns: GNS, _ talker: Talker, _ update: inout FixUpdate) {
    update.concernsFix = true
    if let time = gns.time { stamp(time, &update) }
    guard let mode = gns.mode, mode != .invalid else {
      // After the GNS of the whole solution, there may be one GNS for each system, with only the corrections of that
      // system.
      let isOfOneSystem = gns.mode == nil && gns.position == nil && talker != .combined
      if isOfOneSystem, modeSoFar(update) != .unknown { return }
      update.mode = .noFix
      update.deniesFix = true
      return
    }
    if gns.isUnsafe { return }
    update.values.satellitesUsed = gns.satellitesUsed
    if let position = gns.position {
      update.values.position = position
      update.mode = .twoDimensional
      if let altitude = gns.altitudeMSLMetres {
        update.values.altitudeMSLMetres = altitude
        if gns.satellitesUsed > 3 { update.mode = .threeDimensional }
        update.values.geoidSeparationMetres = gns.geoidSeparationMetres
      }
    } else {
      update.mode = .noFix
    }
    update.values.hdop = gns.hdop
    update.status = FixStatus(mode)
    if let age = gns.differentialAgeSeconds, let station = gns.differentialStation {
      update.values.differentialAgeSeconds = age
      update.values.differentialStation = station
    }
  }

  mutating func apply(_ gsa: GSA, _ talker: Talker, _ update: inout FixUpdate) {
    if isClockStuck { return }
    let isFirstCombined = used.listTalker != .combined && talker == .combined
    used.begin(talker)
    update.concernsFix = true
    // If several systems have their own lists, the list for GPS does not describe the solution.
    let speaksForAll = !(used.hasSeveralLists && talker == .gps) || isFirstCombined
    // GSA states the number of dimensions of a fix. It cannot establish a fix that another sentence of the epoch
    // denies.
    if speaksForAll, !isFixDenied || gsa.mode == .noFix { update.mode = gsa.mode }
    update.deniesFix = isFixDenied
    update.values.pdop = gsa.pdop
    update.values.hdop = gsa.hdop
    update.values.vdop = gsa.vdop
    let system = SatelliteSystem(talker: talker) ?? gsa.systemID.flatMap(SatelliteSystem.init(nmeaSystemID:))
    for index in 0..<gsa.satelliteCount {
      if let number = SatelliteNumber(Int(gsa.satellites[index]), system: system) { used.insert(number) }
    }
  }

  mutating func apply(_ gsv: GSV, _ talker: Talker) {
    // The lists of several systems and signals follow each other. The first list after another sentence starts a new
    // list of satellites.
    if gsv.sentenceIndex == 1, !lastWasGSV {
      satellites.removeAll()
      skyIsComplete = false
      skyStatesUse = false
      (satellitesAt, signalsAt) = (nil, nil)
    }
    lastWasGSV = true
    let system = SatelliteSystem(talker: talker) ?? gsv.systemID.flatMap { SatelliteSystem(nmeaSystemID: Int($0)) }
    for index in 0..<Int(gsv.satelliteCount) {
      let entry = gsv.satellites[index]
      guard let number = SatelliteNumber(Int(entry.number), system: system) else { continue }
      satellites.append(
        Satellite(
          number: number, signal: number.system.signal(nmea: gsv.signalID),
          elevationDegrees: entry.elevationDegrees, azimuthDegrees: entry.azimuthDegrees,
          signalStrength: entry.signalStrength, isUsed: false))
    }
    skyIsComplete = gsv.isLast && satellites.count > 0
  }

  mutating func apply(_ vtg: VTG, _ update: inout FixUpdate) {
    guard vtg.trackDegrees != nil, let speed = vtg.speedMetresPerSecond else { return }
    if vtg.mode == .estimated || vtg.mode == .invalid { return }
    update.concernsFix = true
    update.values.trackDegrees = vtg.trackDegrees
    update.values.magneticTrackDegrees = vtg.magneticTrackDegrees
    update.values.speedMetresPerSecond = speed
  }

  private mutating func apply(_ gbs: GBS, _ update: inout FixUpdate) {
    guard let time = gbs.time, let now = timeOfDay else { return }
    update.stamp = time
    // A sentence that states only a time opens an epoch too.
    update.concernsFix = true
    guard time.second == now.second else { return }
    update.concernsFix = true
    update.values.latitudeErrorMetres = gbs.latitudeErrorMetres
    update.values.longitudeErrorMetres = gbs.longitudeErrorMetres
    update.values.verticalErrorMetres = gbs.altitudeErrorMetres
  }

  private func apply(_ estimate: GarminErrorEstimate, _ update: inout FixUpdate) {
    guard let horizontal = estimate.horizontalMetres, let vertical = estimate.verticalMetres else { return }
    // Convert errors that contain 50 % of positions (1.18 sigma of a circle) to the 95 % of the other estimates.
    let scale = 1.96 / 1.18
    update.concernsFix = true
    update.values.latitudeErrorMetres = horizontal * 0.5.squareRoot() * scale
    update.values.longitudeErrorMetres = horizontal * 0.5.squareRoot() * scale
    update.values.verticalErrorMetres = vertical * scale
    update.values.sphericalErrorMetres = estimate.sphericalMetres.map { $0 * scale }
  }

  private func apply(_ estimate: QuectelErrorEstimate, _ update: inout FixUpdate) {
    update.concernsFix = true
    update.values.latitudeErrorMetres = estimate.northMetres
    update.values.longitudeErrorMetres = estimate.eastMetres
    update.values.horizontalErrorMetres = estimate.horizontalMetres
    update.values.verticalErrorMetres = estimate.downMetres
    update.values.sphericalErrorMetres = estimate.sphericalMetres
    update.values.positionSigmas = SIMD3(
      Float(estimate.northMetres), Float(estimate.eastMetres), Float(estimate.downMetres))
  }

  private mutating func apply(_ garmin: GarminFix, _ update: inout FixUpdate) {
    update.concernsFix = true
    update.values.time = garmin.time
    guard garmin.isValid else { return }
    update.values.position = garmin.position
    update.mode = garmin.position == nil ? .noFix : garmin.mode
    update.values.speedMetresPerSecond = garmin.speedMetresPerSecond
    update.values.trackDegrees = garmin.trackDegrees
  }

  private mutating func apply(_ estimate: SiRFErrorEstimate, _ update: inout FixUpdate) {
    if let time = estimate.time { stamp(time, &update) }
    guard estimate.isValid else { return }
    update.concernsFix = true
    update.values.hdop = estimate.hdop
    update.values.horizontalErrorMetres = estimate.horizontalMetres
    update.values.verticalErrorMetres = estimate.verticalMetres
    update.values.speedErrorMetresPerSecond = estimate.speedMetresPerSecond
    update.values.trackErrorDegrees = estimate.trackDegrees
  }

  private mutating func apply(_ pashr: PASHR.Position, _ update: inout FixUpdate) {
    update.concernsFix = true
    update.beginsEpoch = true
    guard let isDifferential = pashr.isDifferential else {
      update.status = .unknown
      update.mode = .noFix
      return
    }
    update.values.satellitesUsed = pashr.satellitesUsed
    if let time = pashr.time { stamp(time, &update) }
    // Without a position there is no fix.
    guard let position = pashr.position else {
      update.mode = .noFix
      update.status = .unknown
      return
    }
    update.mode = .threeDimensional
    update.status = isDifferential ? .differential : .gnss
    update.values.position = position
    update.values.altitudeHAEMetres = pashr.altitudeHAEMetres
    update.values.trackDegrees = pashr.trackDegrees
    update.values.speedMetresPerSecond = pashr.speedMetresPerSecond
    update.values.climbMetresPerSecond = pashr.climbMetresPerSecond
    update.values.pdop = pashr.pdop
    update.values.hdop = pashr.hdop
    update.values.vdop = pashr.vdop
  }

  private mutating func apply(_ pubx: PUBX, _ update: inout FixUpdate) {
    switch pubx {
    case .time(let time, let date):
      guard let time, let date else { return }
      stamp(time, on: date, &update)
    case .position(let position):
      update.concernsFix = true
      if let time = position.time { stamp(time, &update) }
      update.mode = position.position == nil ? .noFix : position.mode
      guard let place = position.position, position.mode >= .twoDimensional else { return }
      update.status = position.status
      update.values.position = place
      update.values.altitudeHAEMetres = position.altitudeHAEMetres
      update.values.speedMetresPerSecond = position.speedMetresPerSecond
      update.values.trackDegrees = position.trackDegrees
      update.values.climbMetresPerSecond = position.downMetresPerSecond.map { -$0 }
      update.values.hdop = position.hdop
      update.values.vdop = position.vdop
      update.values.horizontalErrorMetres = position.horizontalAccuracyMetres
      update.values.verticalErrorMetres = position.verticalAccuracyMetres
      update.values.satellitesUsed = position.satellitesUsed
    }
  }

  private mutating func apply(_ psti: PSTI, _ update: inout FixUpdate) -> Bool {
    switch psti {
    case .fix(let skytraq):
      update.concernsFix = true
      guard skytraq.status == .valid, skytraq.mode != .invalid else {
        update.status = .unknown
        update.mode = .noFix
        return false
      }
      stamp(skytraq.stamp, &update)
      if let position = skytraq.position {
        update.values.position = position
        update.values.altitudeMSLMetres = skytraq.altitudeMSLMetres
        update.mode = skytraq.altitudeMSLMetres == nil ? .twoDimensional : .threeDimensional
      }
      update.values.velocity = skytraq.velocity
      update.values.differentialAgeSeconds = skytraq.differentialAgeSeconds
      update.status = FixStatus(skytraq.mode)
      return false
    case .baseline(let when), .statistics(let when):
      stamp(when, &update)
      return false
    case .attitude(let skytraq):
      stamp(skytraq.stamp, &update)
      guard let mode = skytraq.mode, mode != .invalid else { return false }
      // With unfixed ambiguities the heading is only a guess.
      if mode == .rtkFixed { antennaHeading.note(skytraq.headingDegrees, at: beganAt) }
      attitude.time = update.values.time ?? fix.time
      attitude.headingDegrees = skytraq.headingDegrees
      attitude.pitchDegrees = skytraq.pitchDegrees
      attitude.rollDegrees = skytraq.rollDegrees
      return true
    }
  }

  private mutating func stamp(_ when: PSTI.Stamp, _ update: inout FixUpdate) {
    guard let time = when.time, let date = when.date else { return }
    stamp(time, on: date, &update)
  }

  private mutating func apply(_ xdr: XDR) -> Bool {
    attitude.pitchDegrees = xdr.pitchDegrees ?? attitude.pitchDegrees
    attitude.rollDegrees = xdr.rollDegrees ?? attitude.rollDegrees
    attitude.magneticX = xdr.magneticX ?? attitude.magneticX
    attitude.magneticY = xdr.magneticY ?? attitude.magneticY
    attitude.magneticZ = xdr.magneticZ ?? attitude.magneticZ
    return xdr.pitchDegrees != nil || xdr.rollDegrees != nil || xdr.magneticX != nil
  }
}

enum DilutionOfPrecision {
  /// The dilution; `nil` if it is not between 0.01 and 89.99. Receivers send 0, or 99 and more, for an unknown
  /// dilution.
  static func valid(_ value: Double?) -> Double? {
    value.flatMap { (0.01...89.99).contains($0) ? $0 : nil }
  }
}

extension SatelliteSystem {
  /// Converts NMEA 4.11's signal ID to u-blox's, which gpsd prints as `sigid`. An unknown ID becomes 0, the first civil
  /// signal.
  func signal(nmea: UInt8) -> UInt8 {
    switch (self, nmea) {
    case (_, 0): 0
    case (.gps, 5): 4
    case (.gps, 6): 3
    case (.gps, 7): 6
    case (.gps, 8): 7
    case (.gps, _): 0
    case (.glonass, 3): 2
    case (.galileo, 1): 3
    case (.galileo, 2): 5
    case (.galileo, 7): 0
    case (.galileo, 6): 1
    case (.beidou, 5): 7
    case (.beidou, 11): 2
    case (.beidou, 3): 5
    case (.qzss, 5): 4
    case (.qzss, 6): 5
    case (.qzss, 7): 8
    case (.qzss, 8): 9
    default: 0
    }
  }
}
