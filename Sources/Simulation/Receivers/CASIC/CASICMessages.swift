import MonotonicTime
import NMEA

/// Payloads of CASIC messages. NAV-TIMEUTC follows real receivers, which deviate from the specification.
enum CASICMessages {
  static var version: BinaryMessage {
    var message = BinaryMessage()
    message.text("URANUS5,V5.3.0.0", 32)
    message.text("ATGM336H", 32)
    return message
  }

  /// CFG-PRT: text and binary in both directions, 8N1.
  static func port(_ port: UInt8, speed: Int) -> BinaryMessage {
    var message = BinaryMessage([port, 0x33])
    message.u2(0x08C0)
    message.u4(UInt32(speed))
    return message
  }

  static func message(_ output: UInt16, _ solution: Solution) -> BinaryMessage {
    switch output {
    case 0x0101: dilution(solution)
    case 0x0103: positionVelocity(solution)
    case 0x0110: time(solution)
    case 0x0121: satellites(.beidou, 1, solution)
    case 0x0122: satellites(.glonass, 2, solution)
    default: satellites(.gps, 0, solution)
    }
  }

  private static func timed(_ solution: Solution) -> BinaryMessage {
    var message = BinaryMessage()
    message.u4(solution.runTime.inSeconds * 1e3)
    return message
  }

  private static func dilution(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let horizontal = Solution.hdop / 2.0.squareRoot()
    for value in [Solution.pdop, Solution.hdop, Solution.vdop, horizontal, horizontal, Solution.tdop] {
      message.r4(solution.hasFix ? value : 25.5)
    }
    return message
  }

  private static func positionVelocity(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let isKnown = solution.hasFix
    let count = { (system: SatelliteSystem) in UInt8(solution.satellites.filter { $0.system == system }.count) }
    let systems = [SatelliteSystem.gps, .beidou, .glonass]
    let used = systems.map { isKnown ? count($0) : 0 }
    let mask = zip([1, 2, 4] as [UInt8], used).reduce(UInt8(0)) { $1.1 > 0 ? $0 | $1.0 : $0 }
    message.u1(isKnown ? 7 : 0, isKnown ? 7 : 0, mask, used.reduce(0, +), used[0], used[1], used[2], 0)
    message.r4(isKnown ? Solution.pdop : 25.5)
    message.r8(isKnown ? solution.longitudeDegrees : 0)
    message.r8(isKnown ? solution.latitudeDegrees : 0)
    message.r4(isKnown ? solution.altitudeHAEMetres : 0)
    message.r4(isKnown ? solution.separationMetres : 0)
    let horizontal = solution.sigmaMetres * solution.sigmaMetres
    message.r4(isKnown ? horizontal : 1e8)
    message.r4(isKnown ? horizontal * Solution.verticalScale * Solution.verticalScale : 1e8)
    let velocity = isKnown ? solution.velocityMetresPerSecond : .zero
    message.r4(velocity.x)
    message.r4(velocity.y)
    message.r4(-velocity.z)
    message.r4((velocity * velocity).sum().squareRoot())
    message.r4(isKnown ? solution.groundSpeed : 0)
    message.r4(isKnown ? solution.trackDegrees : 0)
    message.r4(isKnown ? Solution.speedSigma * Solution.speedSigma : 1e4)
    message.r4(isKnown ? 4 : 32_400)
    return message
  }

  private static func time(_ solution: Solution) -> BinaryMessage {
    var message = timed(solution)
    let parts = solution.utc.components
    message.r4(solution.hasTime ? 6.4 : 1e8)
    message.r4(0)
    message.u2(UInt16(parts.nanosecond / 1_000_000))
    message.u2(UInt16(parts.date.year))
    message.u1(
      UInt8(parts.date.month), UInt8(parts.date.day), UInt8(parts.hour), UInt8(parts.minute), UInt8(parts.second))
    message.u1(solution.hasTime ? 7 : 0, 0, solution.hasTime ? 3 : 0)
    return message
  }

  private static func satellites(
    _ system: SatelliteSystem, _ number: UInt8, _ solution: Solution
  ) -> BinaryMessage {
    let seen = solution.satellites.filter { $0.system == system }
    var message = timed(solution)
    message.u1(UInt8(seen.count), UInt8(solution.hasFix ? seen.count : 0), number, 0)
    for (channel, satellite) in seen.enumerated() {
      message.u1(UInt8(channel), satellite.number, solution.hasFix ? 0xC1 : 0x40, solution.hasFix ? 0x21 : 0x01)
      message.u1(UInt8(satellite.carrierToNoise))
      message.i1(Int8(satellite.elevationDegrees))
      message.i2(Int16(satellite.azimuthDegrees))
      message.r4(0)
    }
    return message
  }
}
