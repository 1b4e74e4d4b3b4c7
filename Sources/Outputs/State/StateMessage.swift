import FoundationEssentials
import Fusion
import MonotonicTime
import NMEA

extension StateReport {
  /// Reads a state from the JSON that `write` has written; `nil` for any other text.
  public static func read(_ line: [UInt8]) -> FusedState? {
    guard let message = try? JSONDecoder().decode(StateMessage.self, from: Data(line)) else { return nil }
    return message.isPlausible ? message.state : nil
  }
}

/// The JSON object of a state, as a client decodes it.
private struct StateMessage: Decodable {
  struct Position: Decodable {
    var lat, lon: Double
    var altHAE, altMSL, sigmaHorizontal, sigmaVertical: Double?
    var age: Double
    var source: String
  }
  struct Velocity: Decodable {
    var speed: Double
    var track, climb, sigmaHorizontal, sigmaVertical: Double?
    var age: Double
    var source: String
  }
  struct Attitude: Decodable {
    var q: [Double]
    var sigmaInclination: Double
    var sigmaYaw: Double?
    var age: Double
    var source: String
  }
  struct Vector: Decodable {
    var x, y, z: Double
    var age: Double
    var source: String
  }
  struct Air: Decodable {
    var pressure, temperature: Double
    var humidity: Double?
    var age: Double
    var source: String
  }
  struct Supply: Decodable {
    var volts, amperes: Double
    var age: Double
    var source: String
  }
  struct Fix: Decodable {
    var mode, status: Int
    var satellites: Int?
    var hdop: Double?
    var timeSigma: Double?
    var correctionAge: Double?
    var jamming, spoofing: String?
    var receiverFusion: String?
    var jammingIndicator: Int?
    var age: Double
    var source: String
  }
  struct Refusal: Decodable {
    var seconds, metres: Double
  }

  var mode: String
  var deadReckoningSeconds: Double?
  var monotonic: Double
  var time: String?
  var timeConfirmed: Bool?
  var position: Position?
  var velocity: Velocity?
  var attitude: Attitude?
  var rates, acceleration, magneticField: Vector?
  var air: Air?
  var supply: Supply?
  var fix: Fix?
  var refusal: Refusal?

  /// The accepted range of seconds. No monotonic clock reaches larger values, which could overflow 64 bits in
  /// nanoseconds.
  private static let seconds = -1e9...1e9

  var isPlausible: Bool {
    let ages = [
      deadReckoningSeconds, position?.age, velocity?.age, attitude?.age, rates?.age, acceleration?.age,
      magneticField?.age, air?.age, supply?.age, fix?.age, refusal?.seconds,
    ]
    return StateMessage.seconds.contains(monotonic) && ages.allSatisfy { StateMessage.seconds.contains($0 ?? 0) }
  }

  /// The state that the message describes. Its device names are those in the message.
  ///
  /// - Precondition: `isPlausible`
  var state: FusedState {
    let at = MonotonicInstant(nanoseconds: Int64(monotonic * 1e9))
    func before(_ age: Double) -> MonotonicInstant { at.advanced(by: .nanoseconds(-Int64(age * 1e9))) }
    var names: [String] = []
    func devices(_ source: String) -> DeviceSet { DeviceNames.set(of: source, in: &names) }
    func vector(_ part: Vector?) -> Dated<SIMD3<Double>>? {
      part.map { Dated(SIMD3($0.x, $0.y, $0.z), at: before($0.age), source: devices($0.source)) }
    }
    var state = FusedState(at: at)
    state.mode = FusedState.Mode(rawValue: mode) ?? .none
    state.deadReckoningSince = deadReckoningSeconds.map(before)
    state.position = position.map {
      Dated(
        FusedState.Position(
          latitudeDegrees: $0.lat, longitudeDegrees: $0.lon, altitudeHAEMetres: $0.altHAE, altitudeMSLMetres: $0.altMSL,
          horizontalSigmaMetres: $0.sigmaHorizontal, verticalSigmaMetres: $0.sigmaVertical),
        at: before($0.age), source: devices($0.source))
    }
    state.motion = velocity.map {
      Dated(
        FusedState.Motion(
          speedMetresPerSecond: $0.speed, trackDegrees: $0.track, climbMetresPerSecond: $0.climb,
          horizontalSigmaMetresPerSecond: $0.sigmaHorizontal, verticalSigmaMetresPerSecond: $0.sigmaVertical),
        at: before($0.age), source: devices($0.source))
    }
    state.attitude = attitude.flatMap { attitude in
      guard attitude.q.count == 4 else { return nil }
      let radians = Double.pi / 180
      return Dated(
        FusedState.Attitude(
          quaternion: Quaternion(w: attitude.q[0], x: attitude.q[1], y: attitude.q[2], z: attitude.q[3]),
          inclinationSigmaRadians: attitude.sigmaInclination * radians,
          headingSigmaRadians: attitude.sigmaYaw.map { $0 * radians }), at: before(attitude.age),
        source: devices(attitude.source))
    }
    state.rates = vector(rates)
    state.acceleration = vector(acceleration)
    state.magneticField = vector(magneticField)
    state.air = air.map {
      Dated(
        FusedState.Air(
          pressurePascals: $0.pressure, temperatureCelsius: $0.temperature, humidityPercent: $0.humidity),
        at: before($0.age), source: devices($0.source))
    }
    state.supply = supply.map {
      Dated(
        FusedState.Supply(volts: $0.volts, amperes: $0.amperes), at: before($0.age), source: devices($0.source))
    }
    let utc = time.flatMap(StateMessage.utc)
    state.fix = fix.map {
      let at = before($0.age)
      // The message contains the time of the state, but the fix needs the time of its own instant.
      let utcNanoseconds = utc.map { $0.nanosecondsSince1970 - (state.at.nanoseconds - at.nanoseconds) }
      var quality = FusedState.FixQuality(
        mode: $0.mode, status: $0.status, satellitesUsed: $0.satellites, hdop: $0.hdop, utcNanoseconds: utcNanoseconds)
      quality.isTimeConfirmed = timeConfirmed == true
      quality.timeSigmaSeconds = $0.timeSigma
      quality.correctionAgeSeconds = $0.correctionAge
      quality.reception = Reception(
        jamming: $0.jamming.flatMap(Reception.Jamming.init) ?? .unknown,
        spoofing: $0.spoofing.flatMap(Reception.Spoofing.init) ?? .unknown,
        jammingIndicator: $0.jammingIndicator.flatMap(UInt8.init(exactly:)))
      quality.receiverFusion = $0.receiverFusion.flatMap(ReceiverFusion.init)
      return Dated(quality, at: at, source: devices($0.source))
    }
    state.refusal = refusal.map { FusedState.Refusal(since: before($0.seconds), metres: $0.metres) }
    state.devices = DeviceNames(names)
    return state
  }

  /// Reads `2026-11-21T03:07:19.000Z`.
  private static func utc(_ text: String) -> UTCTime? {
    let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
    guard numbers.count == 7, let date = CalendarDate(year: numbers[0], month: numbers[1], day: numbers[2]),
      (0..<24).contains(numbers[3]), (0..<60).contains(numbers[4]), (0...60).contains(numbers[5]),
      (0..<1000).contains(numbers[6])
    else { return nil }
    return UTCTime(
      date: date,
      time: TimeOfDay(
        second: numbers[3] * 3600 + numbers[4] * 60 + numbers[5], nanosecond: numbers[6] * 1_000_000))
  }
}
