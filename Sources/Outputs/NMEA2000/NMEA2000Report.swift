import Fusion
import MonotonicTime
import NMEA

/// The fused state as messages of NMEA 2000. Each group has its own interval, the usual one of the standard, and a part
/// is sent again only after it was measured again.
struct NMEA2000Report {
  /// Limits how often a message is sent.
  private struct MessageRate {
    var next: MonotonicInstant?
    var measured: MonotonicInstant?
  }

  private var messageRates: [NMEA2000Message.Group: MessageRate] = [:]
  /// The number (SID) that shows which messages belong to the same state.
  private var sequence: UInt8 = 0

  /// The messages of a state that are due.
  mutating func messages(of state: FusedState) -> [NMEA2000Message] {
    // While the devices are asleep, the state's position is no longer the present one.
    guard state.mode != .asleep else { return [] }
    var messages: [NMEA2000Message] = []
    addPosition(of: state, to: &messages)
    addAttitude(of: state, to: &messages)
    addAir(of: state, to: &messages)
    if !messages.isEmpty { sequence = sequence == 252 ? 0 : sequence + 1 }
    return messages
  }

  /// Whether a group is due.
  ///
  /// - Parameters:
  ///   - measured: when its part was measured; `nil` if it may be sent again without a new measurement
  private mutating func isDue(
    _ group: NMEA2000Message.Group, every interval: Duration, measured: MonotonicInstant?, at now: MonotonicInstant
  ) -> Bool {
    let rate = messageRates[group] ?? MessageRate()
    if let next = rate.next, now < next { return false }
    if let measured, measured == rate.measured { return false }
    // The interval is slightly shorter, so that a state that comes slightly early is sent too.
    messageRates[group] = MessageRate(next: now + interval * 0.95, measured: measured)
    return true
  }

  private mutating func addPosition(of state: FusedState, to messages: inout [NMEA2000Message]) {
    if let part = state.position,
      isDue(.position, every: .milliseconds(100), measured: part.at, at: state.at)
    {
      var fields = NMEA2000Fields()
      fields.add(part.value.latitudeDegrees, per: 1e-7, bytes: 4, isSigned: true)
      fields.add(part.value.longitudeDegrees, per: 1e-7, bytes: 4, isSigned: true)
      messages.append(NMEA2000Message(.position, fields))
    }
    if let part = state.motion,
      isDue(.courseAndSpeed, every: .milliseconds(250), measured: part.at, at: state.at)
    {
      var fields = started()
      // The course is from true north.
      fields.add(0xFC, bytes: 1)
      fields.add(part.value.trackDegrees.map { NMEA2000Report.circle($0 * .pi / 180) }, per: 1e-4, bytes: 2)
      fields.add(part.value.speedMetresPerSecond, per: 0.01, bytes: 2)
      fields.add(.max, bytes: 2)
      messages.append(NMEA2000Message(.courseAndSpeed, fields))
    }
    // A state without a position is sent once a second too, so that displays learn that there is none.
    if state.position != nil || state.fix != nil,
      isDue(.gnssPosition, every: .seconds(1), measured: state.position?.at, at: state.at)
    {
      messages.append(gnssPosition(of: state))
    }
    if let clock = NMEA2000Report.clock(of: state, at: state.at),
      isDue(.systemTime, every: .seconds(1), measured: nil, at: state.at)
    {
      var fields = started()
      // The source is GPS.
      fields.add(0xF0, bytes: 1)
      fields.add(clock.day, per: 1, bytes: 2)
      fields.add(clock.second, per: 1e-4, bytes: 4)
      messages.append(NMEA2000Message(.systemTime, fields))
    }
  }

  private func gnssPosition(of state: FusedState) -> NMEA2000Message {
    let position = state.position?.value
    let fix = state.fix?.value
    let clock = NMEA2000Report.clock(of: state, at: state.position?.at ?? state.at)
    var fields = started()
    fields.add(clock?.day, per: 1, bytes: 2)
    fields.add(clock?.second, per: 1e-4, bytes: 4)
    fields.add(position?.latitudeDegrees, per: 1e-16, bytes: 8, isSigned: true)
    fields.add(position?.longitudeDegrees, per: 1e-16, bytes: 8, isSigned: true)
    fields.add(position?.altitudeHAEMetres, per: 1e-6, bytes: 8, isSigned: true)
    // The type of the system is 0, GPS. The methods have the numbers of the qualities in GGA.
    let quality = state.isReckoned ? 6 : FixLetter.quality(ofStatus: fix?.status ?? 1)
    fields.add(UInt64(position == nil ? 0 : quality) << 4, bytes: 1)
    // The integrity is not checked.
    fields.add(0xFC, bytes: 1)
    fields.add(fix?.satellitesUsed.map(Double.init), per: 1, bytes: 1)
    fields.add(fix?.hdop, per: 0.01, bytes: 2, isSigned: true)
    fields.add(nil, per: 0.01, bytes: 2, isSigned: true)
    var separation: Double?
    if let hae = position?.altitudeHAEMetres, let msl = position?.altitudeMSLMetres { separation = hae - msl }
    fields.add(separation, per: 0.01, bytes: 4, isSigned: true)
    // No reference stations follow.
    fields.add(0, bytes: 1)
    return NMEA2000Message(.gnssPosition, fields)
  }

  private mutating func addAttitude(of state: FusedState, to messages: inout [NMEA2000Message]) {
    guard let part = state.attitude else { return }
    let quaternion = part.value.quaternion
    let hasHeading = part.value.headingSigmaRadians != nil
    if hasHeading, isDue(.heading, every: .milliseconds(100), measured: part.at, at: state.at) {
      let isMagnetic = part.value.north == .magnetic
      var fields = started()
      fields.add(NMEA2000Report.circle(quaternion.yaw), per: 1e-4, bytes: 2)
      // The heading has no deviation left to correct.
      fields.add(nil, per: 1e-4, bytes: 2, isSigned: true)
      let variation = state.magneticHeading()?.variationDegrees
      fields.add(variation.map { $0 * .pi / 180 }, per: 1e-4, bytes: 2, isSigned: true)
      fields.add(isMagnetic ? 0xFD : 0xFC, bytes: 1)
      messages.append(NMEA2000Message(.heading, fields))
    }
    if let rates = state.rates, isDue(.rateOfTurn, every: .milliseconds(100), measured: rates.at, at: state.at) {
      var fields = started()
      // The rate of turn is the rate about the vertical, even if the board is tilted.
      fields.add(quaternion.rotate(rates.value).z, per: 3.125e-8, bytes: 4, isSigned: true)
      fields.add(.max, bytes: 3)
      messages.append(NMEA2000Message(.rateOfTurn, fields))
    }
    if isDue(.attitude, every: .seconds(1), measured: part.at, at: state.at) {
      var fields = started()
      for angle in [hasHeading ? quaternion.yaw : nil, quaternion.pitch, quaternion.roll] {
        fields.add(angle, per: 1e-4, bytes: 2, isSigned: true)
      }
      fields.add(.max, bytes: 1)
      messages.append(NMEA2000Message(.attitude, fields))
    }
  }

  private mutating func addAir(of state: FusedState, to messages: inout [NMEA2000Message]) {
    guard let part = state.air, isDue(.environment, every: .seconds(2), measured: part.at, at: state.at) else { return }
    var fields = started()
    // This byte has the sources: 2 for an inside temperature, and 0 for an inside humidity. The sensor is usually
    // inside.
    fields.add(2, bytes: 1)
    fields.add(part.value.temperatureCelsius + 273.15, per: 0.01, bytes: 2)
    fields.add(part.value.humidityPercent, per: 0.004, bytes: 2, isSigned: true)
    fields.add(part.value.pressurePascals, per: 100, bytes: 2)
    messages.append(NMEA2000Message(.environment, fields))
    // This group has the pressure with more digits. Its instance is 0, and its source is 0 (atmospheric).
    fields = started()
    fields.add(0, bytes: 2)
    fields.add(part.value.pressurePascals, per: 0.1, bytes: 4, isSigned: true)
    fields.add(.max, bytes: 1)
    messages.append(NMEA2000Message(.pressure, fields))
  }

  /// The beginning of most groups: a field with the number of the state.
  private func started() -> NMEA2000Fields {
    var fields = NMEA2000Fields()
    fields.add(UInt64(sequence), bytes: 1)
    return fields
  }

  /// An angle from 0 to less than a full turn. An angle that would become a full turn in steps of 0.0001 rad is 0.
  private static func circle(_ radians: Double) -> Double {
    let rest = radians.truncatingRemainder(dividingBy: 2 * .pi)
    let angle = rest < 0 ? rest + 2 * .pi : rest
    return angle < 6.283_15 ? angle : 0
  }

  /// The days since 1970 and the seconds since midnight in UTC; `nil` until the receiver has confirmed its date,
  /// because other devices set their clocks by this time.
  private static func clock(of state: FusedState, at instant: MonotonicInstant) -> (day: Double, second: Double)? {
    guard state.fix?.value.isTimeConfirmed == true, let utc = state.utc(at: instant) else { return nil }
    let nanoseconds = utc.nanosecondsSince1970
    let day: Int64 = 86_400_000_000_000
    return (Double(nanoseconds / day), Double(nanoseconds % day) / 1e9)
  }
}
