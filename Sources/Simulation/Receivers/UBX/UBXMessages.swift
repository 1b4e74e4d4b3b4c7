import MonotonicTime
import NMEA

/// Payloads in the layout of each generation's interface description.
extension UBXProtocol {
  var version: BinaryMessage {
    var message = BinaryMessage()
    message.text(generation.software, 30)
    message.text(generation.hardware, 10)
    for text in generation.extensions { message.text(text, 30) }
    return message
  }

  var uniqueIdentifier: BinaryMessage {
    let isLong = generation.number >= 10
    return BinaryMessage([isLong ? 2 : 1, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59] + (isLong ? [0x2C] : []))
  }

  /// The payload of a message; `nil` if the message is not simulated.
  func message(_ group: UInt8, _ id: UInt8, _ solution: Solution, _ body: ReceiverBody) -> BinaryMessage? {
    switch (group, id) {
    case (0x01, 0x02): positionLLH(solution)
    case (0x01, 0x03): status(solution, body)
    case (0x01, 0x04): dilution(solution)
    case (0x01, 0x06): ecefSolution(solution)
    case (0x01, 0x07): positionVelocityTime(solution, body)
    case (0x01, 0x12): velocityNED(solution)
    case (0x01, 0x20): timeGPS(solution)
    case (0x01, 0x21): timeUTC(solution)
    case (0x01, 0x30): spaceVehicles(solution)
    case (0x01, 0x35): satellites(solution)
    case (0x01, 0x36): covariance(solution)
    case (0x01, 0x43): signals(solution)
    case (0x01, 0x61): timed(solution)
    case (0x0A, 0x09): hardwareStatus(body)
    case (0x0A, 0x38): radioStatus(body)
    case (0x0D, 0x01): timePulse(solution)
    default: nil
    }
  }

  private func timed(_ solution: Solution) -> BinaryMessage {
    var message = BinaryMessage()
    message.u4(solution.timeOfWeekMilliseconds)
    return message
  }

  // MARK: Position

  private func place(_ solution: Solution, _ message: inout BinaryMessage) {
    let isKnown = solution.hasFix
    message.i4(isKnown ? solution.longitudeDegrees * 1e7 : 0)
    message.i4(isKnown ? solution.latitudeDegrees * 1e7 : 0)
    message.i4(isKnown ? solution.altitudeHAEMetres * 1e3 : 0)
    message.i4(isKnown ? (solution.altitudeHAEMetres - solution.separationMetres) * 1e3 : 0)
    message.u4(isKnown ? solution.sigmaMetres * 1e3 : 4_294_967_295)
    message.u4(isKnown ? solution.sigmaMetres * Solution.verticalScale * 1e3 : 4_294_967_295)
  }

  private func positionLLH(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    place(solution, &message)
    return message
  }

  private func positionVelocityTime(_ solution: Solution, _ body: ReceiverBody) -> BinaryMessage {
    var message = timed(solution)
    date(solution, &message)
    let isModern = generation.protocolVersion >= 18
    message.u1(solution.hasTime ? 0x07 : 0)
    message.u4(UInt32(solution.hasTime ? 25 : 4_294_967_295))
    message.i4(Int32(nanoseconds(solution)))
    let saving: UInt8 = body.savesPower ? (solution.hasFix ? 3 : 1) : 0
    let corrected: UInt8 = solution.correction == .none ? 0 : 2 | solution.correction.rawValue << 6
    message.u1(solution.hasFix ? 3 : 0, (solution.hasFix ? 1 : 0) | corrected | saving << 2)
    message.u1(isModern && solution.hasTime ? 0xE0 : 0, UInt8(solution.hasFix ? solution.satellites.count : 0))
    place(solution, &message)
    let velocity = solution.hasFix ? solution.velocityMetresPerSecond : .zero
    message.i4(velocity.x * 1e3)
    message.i4(velocity.y * 1e3)
    message.i4(velocity.z * 1e3)
    message.i4(solution.hasFix ? solution.groundSpeed * 1e3 : 0)
    message.i4(solution.hasFix ? solution.trackDegrees * 1e5 : 0)
    message.u4(solution.hasFix ? Solution.speedSigma * 1e3 : 20_000)
    message.u4(headingSigma(solution) * 1e5)
    message.u2(solution.hasFix ? UInt16(Solution.pdop * 100) : 9999)
    message.u1(correctionStep(solution) << 1)
    message.zeros(5)
    guard generation.protocolVersion >= 15 else { return message }
    message.i4(Int32(0))
    message.i2(0)
    message.u2(0)
    return message
  }

  /// The age of the corrections as an index: 1 for less than a second, up to 12 for more than two minutes; 0 without
  /// corrections, and before protocol 20.
  private func correctionStep(_ solution: Solution) -> UInt8 {
    if solution.correction == .none || generation.protocolVersion < 20 { return 0 }
    let ends: [Double] = [1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120]
    return UInt8(1 + (ends.firstIndex { solution.correctionAge.inSeconds < $0 } ?? ends.count))
  }

  private func headingSigma(_ solution: Solution) -> Double {
    guard solution.hasFix, solution.groundSpeed > 0.2 else { return 180 }
    return min(180, Solution.speedSigma / solution.groundSpeed * 180 / .pi)
  }

  private func velocityNED(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let velocity = solution.hasFix ? solution.velocityMetresPerSecond : .zero
    message.i4(velocity.x * 100)
    message.i4(velocity.y * 100)
    message.i4(velocity.z * 100)
    let whole = (velocity * velocity).sum().squareRoot()
    message.u4(whole * 100)
    message.u4(solution.hasFix ? solution.groundSpeed * 100 : 0)
    message.i4(solution.hasFix ? solution.trackDegrees * 1e5 : 0)
    message.u4(solution.hasFix ? Solution.speedSigma * 100 : 2000)
    message.u4(headingSigma(solution) * 1e5)
    return message
  }

  private func ecefSolution(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    message.i4(Int32(solution.timeOfWeekNanoseconds - Int64(solution.timeOfWeekMilliseconds) * 1_000_000))
    message.i2(Int16(solution.week))
    let isKnown = solution.hasFix
    message.u1(isKnown ? 3 : 0, (isKnown ? 1 : 0) | (solution.hasTime ? 0x0C : 0))
    let place = isKnown ? solution.ecefMetres : .zero
    for axis in 0..<3 { message.i4(place[axis] * 100) }
    message.u4(isKnown ? solution.sigmaMetres * 1.9 * 100 : 4_294_967_295)
    let velocity = isKnown ? solution.ecefMetresPerSecond : .zero
    for axis in 0..<3 { message.i4(velocity[axis] * 100) }
    message.u4(isKnown ? Solution.speedSigma * 100 : 2000)
    message.u2(isKnown ? UInt16(Solution.pdop * 100) : 9999)
    message.u1(0, UInt8(isKnown ? solution.satellites.count : 0))
    message.zeros(4)
    return message
  }

  // MARK: Errors

  private func dilution(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let horizontal = Solution.hdop / 2.0.squareRoot()
    let geometric = (Solution.pdop * Solution.pdop + Solution.tdop * Solution.tdop).squareRoot()
    for value in [geometric, Solution.pdop, Solution.tdop, Solution.vdop, Solution.hdop, horizontal, horizontal] {
      message.u2(solution.hasFix ? UInt16(value * 100) : 9999)
    }
    return message
  }

  private func covariance(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let isKnown: UInt8 = solution.hasFix ? 1 : 0
    message.u1(0, isKnown, isKnown)
    message.zeros(9)
    let horizontal = solution.sigmaMetres * solution.sigmaMetres / 2
    let vertical = solution.sigmaMetres * Solution.verticalScale
    let speed = Solution.speedSigma * Solution.speedSigma / 3
    let position = [horizontal, 0, 0, horizontal, 0, vertical * vertical]
    for value in position + [speed, 0, 0, speed, 0, speed] { message.r4(solution.hasFix ? value : 0) }
    return message
  }

  private func status(_ solution: Solution, _ body: ReceiverBody) -> BinaryMessage {
    var message = timed(solution)
    message.u1(solution.hasFix ? 3 : 0, (solution.hasFix ? 1 : 0) | (solution.hasTime ? 0x0C : 0), 0)
    var spoofing: UInt8 = 0
    if generation.protocolVersion >= 18, solution.hasFix {
      spoofing = body.faults.spoofing?.isReported == true ? 2 : 1
    }
    message.u1(spoofing << 3)
    message.u4((body.starts.last?.timeToFirstFix.inSeconds ?? 0) * 1e3)
    message.u4(solution.runTime.inSeconds * 1e3)
    return message
  }

  // MARK: Time

  /// Appends UTC in whole seconds. The fraction is in the nanoseconds field.
  private func date(_ solution: Solution, _ message: inout BinaryMessage) {
    let parts = solution.utc.components
    message.u2(UInt16(parts.date.year))
    message.u1(
      UInt8(parts.date.month), UInt8(parts.date.day), UInt8(parts.hour), UInt8(parts.minute), UInt8(parts.second))
  }

  private func nanoseconds(_ solution: Solution) -> Int { solution.utc.components.nanosecond }

  private func timeUTC(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    message.u4(UInt32(solution.hasTime ? 25 : 4_294_967_295))
    message.i4(Int32(nanoseconds(solution)))
    date(solution, &message)
    message.u1(solution.hasTime ? 0x07 : 0)
    return message
  }

  private func timeGPS(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    message.i4(Int32(solution.timeOfWeekNanoseconds - Int64(solution.timeOfWeekMilliseconds) * 1_000_000))
    message.i2(Int16(solution.week))
    message.i1(Int8(Solution.leapSeconds))
    message.u1(solution.hasTime ? 0x07 : 0)
    message.u4(UInt32(solution.hasTime ? 25 : 4_294_967_295))
    return message
  }

  /// The time of the next pulse, which marks the next whole second.
  private func timePulse(_ solution: Solution) -> BinaryMessage {
    var message = BinaryMessage()
    let next = solution.timeOfWeekNanoseconds / 1_000_000_000 + 1
    message.u4(UInt32(next % 604_800 * 1000))
    message.u4(UInt32(0))
    message.i4(Int32(solution.hasFix ? 1200 : 0))
    message.u2(UInt16(solution.week + (next == 604_800 ? 1 : 0)))
    message.u1(solution.hasTime ? 0x02 : 0, 0)
    return message
  }

  // MARK: Satellites

  private func spaceVehicles(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let chip: UInt8 = generation.number == 6 ? 2 : generation.number == 7 ? 3 : 4
    message.u1(UInt8(solution.satellites.count), chip, 0, 0)
    for (channel, satellite) in solution.satellites.enumerated() {
      message.u1(UInt8(channel), numberInOneRow(satellite), solution.hasFix ? 0x0D : 0x04, solution.hasFix ? 7 : 4)
      sight(satellite, &message)
      message.i4(Int32(0))
    }
    return message
  }

  /// The satellite number in NAV-SVINFO, which numbers the satellites of all systems in one sequence.
  private func numberInOneRow(_ satellite: SimulatedSatellite) -> UInt8 {
    switch satellite.system {
    case .gps, .sbas: satellite.number
    case .galileo: satellite.number + 210
    case .beidou: satellite.number <= 5 ? satellite.number + 158 : satellite.number + 27
    case .qzss: satellite.number + 192
    case .glonass: satellite.number + 64
    }
  }

  private func sight(_ satellite: SimulatedSatellite, _ message: inout BinaryMessage) {
    message.u1(UInt8(satellite.carrierToNoise))
    message.i1(Int8(satellite.elevationDegrees))
    message.i2(Int16(satellite.azimuthDegrees))
  }

  private func satellites(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    message.u1(1, UInt8(solution.satellites.count), 0, 0)
    for satellite in solution.satellites {
      message.u1(satellite.system.rawValue, satellite.number)
      sight(satellite, &message)
      message.i2(0)
      // Code and carrier tracked, used, healthy, ephemeris known.
      message.u4(UInt32(solution.hasFix ? 0x091F : 0x0014))
    }
    return message
  }

  private func signals(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    message.u1(0, UInt8(solution.satellites.count), 0, 0)
    for satellite in solution.satellites {
      let frequency: UInt8 = satellite.system == .glonass ? 7 + satellite.number % 5 : 0
      message.u1(satellite.system.rawValue, satellite.number, 0, frequency)
      message.i2(0)
      message.u1(UInt8(satellite.carrierToNoise), solution.hasFix ? 7 : 4, 0, 1)
      message.u2(solution.hasFix ? 0x0029 : 0x0001)
      message.zeros(4)
    }
    return message
  }

  // MARK: Interference

  private func hardwareStatus(_ body: ReceiverBody) -> BinaryMessage {
    var message = BinaryMessage()
    message.u4(UInt32(0x0000_F400))
    message.zeros(4)
    message.u4(UInt32(0x0001_0000))
    message.u4(UInt32(0x0000_F7EF))
    message.u2(93)
    message.u2(body.faults.jamming == nil ? 2730 : 1100)
    message.u1(2, 1, 1 | (body.faults.jamming?.state ?? 1) << 2, 0x84)
    message.u4(UInt32(0x0001_EBFF))
    for pin in 0..<UInt8(17) { message.u1(pin) }
    message.u1(body.faults.jamming?.indicator ?? 9)
    message.zeros(2)
    message.zeros(4)
    message.u4(UInt32(0x0000_F400))
    message.zeros(4)
    return message
  }

  private func radioStatus(_ body: ReceiverBody) -> BinaryMessage {
    var message = BinaryMessage([0, 1, 0, 0])
    message.u1(0, body.faults.jamming?.state ?? 1, 2, 1)
    message.zeros(8)
    message.u2(93)
    message.u2(body.faults.jamming == nil ? 4800 : 1900)
    message.u1(body.faults.jamming?.indicator ?? 9)
    message.i1(4)
    message.u1(150)
    message.i1(-2)
    message.u1(148, 0, 0, 0)
    return message
  }
}
