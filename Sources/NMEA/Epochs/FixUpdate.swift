/// What one sentence adds to the fix of its epoch.
struct FixUpdate {
  /// The values that the sentence states; `nil` leaves what is known.
  var values = GNSSFix()
  var mode: FixMode?
  var status: FixStatus?
  /// The receiver said that it does not know the time.
  var clearsTime = false
  /// The epoch's time as the sentence states it.
  var stamp: TimeOfDay?
  /// The sentence opens an epoch, whatever its time.
  var beginsEpoch = false
  /// The sentence says something about the fix, rather than about the sky or nothing at all.
  var concernsFix = false
}

extension GNSSFix {
  /// Takes over what the update states.
  mutating func merge(_ update: FixUpdate) {
    if let mode = update.mode { self.mode = mode }
    if let status = update.status { self.status = status }
    if update.clearsTime { time = nil }
    let new = update.values
    if let value = new.time { time = value }
    if let value = new.position { position = value }
    if let value = new.altitudeHAEMetres { altitudeHAEMetres = value }
    if let value = new.altitudeMSLMetres { altitudeMSLMetres = value }
    if let value = new.geoidSeparationMetres { geoidSeparationMetres = value }
    if let value = new.speedMetresPerSecond { speedMetresPerSecond = value }
    if let value = new.trackDegrees { trackDegrees = value }
    if let value = new.magneticTrackDegrees { magneticTrackDegrees = value }
    if let value = new.magneticVariationDegrees { magneticVariationDegrees = value }
    if let value = new.velocity { velocity = value }
    if let value = new.climbMetresPerSecond { climbMetresPerSecond = value }
    if let value = new.hdop { hdop = value }
    if let value = new.vdop { vdop = value }
    if let value = new.pdop { pdop = value }
    if let value = new.horizontalErrorMetres { horizontalErrorMetres = value }
    if let value = new.latitudeErrorMetres { latitudeErrorMetres = value }
    if let value = new.longitudeErrorMetres { longitudeErrorMetres = value }
    if let value = new.verticalErrorMetres { verticalErrorMetres = value }
    if let value = new.sphericalErrorMetres { sphericalErrorMetres = value }
    if let value = new.speedErrorMetresPerSecond { speedErrorMetresPerSecond = value }
    if let value = new.trackErrorDegrees { trackErrorDegrees = value }
    if let value = new.differentialAgeSeconds { differentialAgeSeconds = value }
    if let value = new.differentialStation { differentialStation = value }
    if let value = new.depthMetres { depthMetres = value }
    if let value = new.waterTemperatureCelsius { waterTemperatureCelsius = value }
    if let value = new.satellitesUsed { satellitesUsed = value }
  }

  /// Fills in what follows from what is known: geoid, variation, the other altitude, speed and course from the
  /// velocity, and rates from the previous epoch.
  mutating func derive(from previous: FixMemory) {
    if let position {
      if geoidSeparationMetres == nil {
        geoidSeparationMetres = EarthModel.geoidSeparationMetres(at: position)
      }
      if magneticVariationDegrees == nil {
        magneticVariationDegrees = EarthModel.magneticVariationDegrees(at: position)
      }
    }
    if let velocity {
      if climbMetresPerSecond == nil { climbMetresPerSecond = -velocity.downMetresPerSecond }
      if speedMetresPerSecond == nil { speedMetresPerSecond = velocity.speedMetresPerSecond }
      if trackDegrees == nil { trackDegrees = velocity.trackDegrees }
    }
    if let variation = magneticVariationDegrees {
      if let track = trackDegrees, magneticTrackDegrees == nil {
        magneticTrackDegrees = Angle.onCircle(track + variation)
      } else if let magnetic = magneticTrackDegrees, trackDegrees == nil {
        trackDegrees = Angle.onCircle(magnetic - variation)
      }
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

  private mutating func deriveRates(from previous: FixMemory) {
    guard mode >= .twoDimensional, previous.mode >= .twoDimensional, let time, let before = previous.time, time > before
    else { return }
    let seconds = Double(time.nanosecondsSince1970 - before.nanosecondsSince1970) / 1e9
    if speedMetresPerSecond == nil, let position, let old = previous.position {
      speedMetresPerSecond = position.distanceMetres(to: old) / seconds
    }
    if climbMetresPerSecond == nil, mode == .threeDimensional, previous.mode == .threeDimensional,
      let height = altitudeHAEMetres, let oldHeight = previous.altitudeHAEMetres
    {
      climbMetresPerSecond = (height - oldHeight) / seconds
    }
  }
}
