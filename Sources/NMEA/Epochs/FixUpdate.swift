/// The facts that one sentence adds to the fix of its epoch.
struct FixUpdate {
  /// The values that the sentence states; `nil` keeps the known value.
  var values = GNSSFix()
  var mode: FixMode?
  var status: FixStatus?
  /// Whether the sentence states that there is no fix. If so, a later GSA of the epoch cannot establish a fix.
  var deniesFix = false
  /// Whether the sentence states that the time is unknown.
  var clearsTime = false
  /// The time in the sentence that identifies its epoch.
  var stamp: TimeOfDay?
  /// Whether the sentence opens an epoch, whatever its time.
  var beginsEpoch = false
  /// Whether the sentence is about the fix, and not only about satellites.
  var concernsFix = false
  /// The kinds of the values that were removed because they are impossible.
  var refused: StatedQuantities = []

  /// Keeps only the dilutions and the number of used satellites, which are also valid at other instants.
  mutating func keepDilutions() {
    var kept = GNSSFix()
    (kept.pdop, kept.hdop, kept.vdop) = (values.pdop, values.hdop, values.vdop)
    kept.satellitesUsed = values.satellitesUsed
    values = kept
    mode = nil
    status = nil
    stamp = nil
  }

  /// Whether the update states a fix mode, a position, an altitude or a motion.
  var isSubstantial: Bool {
    mode != nil || values.position != nil || values.speedMetresPerSecond != nil || values.velocity != nil
      || values.altitudeMSLMetres != nil
  }
}

extension GNSSFix {
  /// Merges the values of the update. The update is passed by reference, because it is half a kilobyte large and is
  /// merged for every sentence.
  mutating func merge(_ update: inout FixUpdate) {
    if let mode = update.mode { self.mode = mode }
    if let status = update.status { self.status = status }
    if update.clearsTime { time = nil }
    if let value = update.values.time { time = value }
    if let value = update.values.position { position = value }
    if let value = update.values.altitudeHAEMetres { altitudeHAEMetres = value }
    if let value = update.values.altitudeMSLMetres { altitudeMSLMetres = value }
    if let value = update.values.geoidSeparationMetres {
      geoidSeparationMetres = value
      // Two heights belong together only if they come from one message.
      if let msl = update.values.altitudeMSLMetres, update.values.altitudeHAEMetres == nil {
        altitudeHAEMetres = msl + value
      }
    }
    if let value = update.values.speedMetresPerSecond { speedMetresPerSecond = value }
    if let value = update.values.trackDegrees { trackDegrees = value }
    if let value = update.values.magneticTrackDegrees { magneticTrackDegrees = value }
    if let value = update.values.magneticVariationDegrees { magneticVariationDegrees = value }
    if let value = update.values.velocity { velocity = value }
    if let value = update.values.climbMetresPerSecond { climbMetresPerSecond = value }
    if let value = update.values.hdop { hdop = value }
    if let value = update.values.vdop { vdop = value }
    if let value = update.values.pdop { pdop = value }
    if let value = update.values.horizontalErrorMetres { horizontalErrorMetres = value }
    if let value = update.values.latitudeErrorMetres { latitudeErrorMetres = value }
    if let value = update.values.longitudeErrorMetres { longitudeErrorMetres = value }
    if let value = update.values.verticalErrorMetres { verticalErrorMetres = value }
    if let value = update.values.sphericalErrorMetres { sphericalErrorMetres = value }
    if let value = update.values.speedErrorMetresPerSecond { speedErrorMetresPerSecond = value }
    if let value = update.values.trackErrorDegrees { trackErrorDegrees = value }
    if let value = update.values.differentialAgeSeconds { differentialAgeSeconds = value }
    if let value = update.values.differentialStation { differentialStation = value }
    if let value = update.values.depthMetres { depthMetres = value }
    if let value = update.values.waterTemperatureCelsius { waterTemperatureCelsius = value }
    if let value = update.values.satellitesUsed { satellitesUsed = value }
    if let value = update.values.positionSigmas { positionSigmas = value }
    if let value = update.values.velocitySigmas { velocitySigmas = value }
    if let value = update.values.timeErrorSeconds { timeErrorSeconds = value }
  }

  /// Adds the values that follow from known values: geoid, the other altitude, speed and course from the velocity, and
  /// rates from the previous epoch.
  mutating func derive(from previous: FixMemory) {
    if let position, geoidSeparationMetres == nil {
      geoidSeparationMetres = EarthModel.geoidSeparationMetres(at: position)
    }
    if let velocity {
      if climbMetresPerSecond == nil { climbMetresPerSecond = -velocity.downMetresPerSecond }
      if speedMetresPerSecond == nil { speedMetresPerSecond = velocity.speedMetresPerSecond }
      if trackDegrees == nil { trackDegrees = velocity.trackDegrees }
    }
    if let separation = geoidSeparationMetres {
      if let msl = altitudeMSLMetres, altitudeHAEMetres == nil {
        altitudeHAEMetres = msl + separation
      } else if let hae = altitudeHAEMetres, altitudeMSLMetres == nil {
        altitudeMSLMetres = hae - separation
      }
    }
    deriveRates(from: previous)
  }

  /// Adds the magnetic variation, and the true or the magnetic course from the other one. Call it once an epoch is
  /// complete, because the date and the receiver's own variation may be in the epoch's last sentence.
  ///
  /// - Parameter earlier: the last known time, for an epoch without one
  mutating func deriveVariation(earlier: UTCTime?) {
    if let position, magneticVariationDegrees == nil {
      let time = time ?? earlier
      magneticVariationDegrees = EarthModel.magneticVariationDegrees(
        at: position, year: time.map { EarthModel.year(nanosecondsSince1970: $0.nanosecondsSince1970) })
    }
    guard let variation = magneticVariationDegrees else { return }
    if let track = trackDegrees, magneticTrackDegrees == nil {
      // The variation is how far east magnetic north is, so the magnetic course is smaller by the variation.
      magneticTrackDegrees = Angle.onCircle(track - variation)
    } else if let magnetic = magneticTrackDegrees, trackDegrees == nil {
      trackDegrees = Angle.onCircle(magnetic + variation)
    }
  }

  private mutating func deriveRates(from previous: FixMemory) {
    guard mode >= .twoDimensional, previous.mode >= .twoDimensional, let time, let before = previous.time, time > before
    else { return }
    let seconds = Double(time.nanosecondsSince1970 - before.nanosecondsSince1970) / 1e9
    if speedMetresPerSecond == nil, let position, let old = previous.position {
      let speed = position.distanceMetres(to: old) / seconds
      if StatedRange.speedMetresPerSecond.contains(speed) { speedMetresPerSecond = speed }
    }
    if climbMetresPerSecond == nil, mode == .threeDimensional, previous.mode == .threeDimensional,
      let height = altitudeHAEMetres, let oldHeight = previous.altitudeHAEMetres
    {
      let climb = (height - oldHeight) / seconds
      if StatedRange.componentMetresPerSecond.contains(climb) { climbMetresPerSecond = climb }
    }
  }
}
