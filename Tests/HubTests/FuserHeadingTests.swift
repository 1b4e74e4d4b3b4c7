import Devices
import Fusion
import Hub
import MonotonicTime
import Testing

/// A heading that a receiver states, from the input to the state.
struct FuserHeadingTests {
  private func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 10_000_000_000 + Int64(seconds * 1e9))
  }

  /// The yaw of a board at rest in degrees; `nil` while it is unknown.
  private func yaw(_ receiver: String, stated: Double?) throws -> Double? {
    let text = """
      { name: 'test', devices: { gps: { driver: 'nmea', port: 'nowhere'\(receiver) },
        imu: { driver: 'mpu-6050', bus: 'nowhere', rateHz: 100 } } }
      """
    let board = try Board(json5: Array(text.utf8), file: "test")
    var fuser = Fuser(board)
    _ = fuser.apply(.begin(FusionKnowledge()), at: instant(0))
    var state: FusedState?
    for tenth in 1...50 {
      let end = Double(tenth) / 10
      var batch = IMUBatch()
      for index in 1...10 {
        batch.append(
          IMUSample(at: instant(end - 0.1 + Double(index) / 100), gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.81)))
      }
      batch.readAt = instant(end)
      state = fuser.apply(.imu(1, batch), at: instant(end)) ?? state
      guard tenth % 10 == 0 else { continue }
      let epoch = ReceiverEpoch(
        at: instant(end),
        quality: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 12, hdop: 1, utcNanoseconds: nil),
        position: FusedState.Position(
          latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: 40, altitudeMSLMetres: nil,
          horizontalSigmaMetres: 1, verticalSigmaMetres: 2),
        motion: nil, heading: stated.map { StatedHeading(degrees: $0, sigmaDegrees: 1) })
      state = fuser.apply(.epoch(0, epoch), at: instant(end + 0.001)) ?? state
    }
    guard let attitude = state?.attitude?.value, attitude.headingSigmaRadians != nil else { return nil }
    return attitude.quaternion.yaw * 180 / .pi
  }

  @Test func `a stated heading is corrected by the angle between the antennas and the bow`() throws {
    #expect(try yaw("", stated: nil) == nil)
    #expect(abs(try #require(try yaw("", stated: 30)) - 30) < 1)
    #expect(abs(try #require(try yaw(", headingOffsetDegrees: 90", stated: 30)) - 120) < 1)
    #expect(abs(try #require(try yaw(", headingOffsetDegrees: -100.5", stated: 30)) + 70.5) < 1)
  }

  /// Why the receiver's heading is not fused on a vehicle that drives north at 20 m/s.
  private func finding(_ receiver: String, stated: Double) throws -> String? {
    let text = """
      { name: 'test', motion: 'vehicle', devices: { gps: { driver: 'nmea', port: 'nowhere'\(receiver) },
        imu: { driver: 'mpu-6050', bus: 'nowhere', rateHz: 100 } } }
      """
    var fuser = Fuser(try Board(json5: Array(text.utf8), file: "test"))
    _ = fuser.apply(.begin(FusionKnowledge()), at: instant(0))
    for tenth in 1...100 {
      let end = Double(tenth) / 10
      var batch = IMUBatch()
      for index in 1...10 {
        batch.append(
          IMUSample(at: instant(end - 0.1 + Double(index) / 100), gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.81)))
      }
      batch.readAt = instant(end)
      _ = fuser.apply(.imu(1, batch), at: instant(end))
      guard tenth % 10 == 0 else { continue }
      let epoch = ReceiverEpoch(
        at: instant(end),
        quality: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 12, hdop: 1, utcNanoseconds: nil),
        position: FusedState.Position(
          latitudeDegrees: 52 + 20 * end / 111_250, longitudeDegrees: 13, altitudeHAEMetres: 40,
          altitudeMSLMetres: nil, horizontalSigmaMetres: 1, verticalSigmaMetres: 2),
        motion: FusedState.Motion(
          speedMetresPerSecond: 20, trackDegrees: 0, climbMetresPerSecond: 0, horizontalSigmaMetresPerSecond: 0.1,
          verticalSigmaMetresPerSecond: 0.2), heading: StatedHeading(degrees: stated, sigmaDegrees: 1))
      _ = fuser.apply(.epoch(0, epoch), at: instant(end + 0.001))
    }
    return fuser.finding(of: 0)
  }

  @Test func `a heading that proves wrong is reported to the owner of the receiver`() throws {
    #expect(try finding("", stated: 90)?.contains("check 'headingOffsetDegrees'") == true)
    #expect(try finding("", stated: 0) == nil)
    #expect(try finding(", headingOffsetDegrees: -90", stated: 90) == nil)
  }

  @Test func `an invalid angle is refused with its key`() {
    #expect(throws: BoardError.self) { _ = try yaw(", headingOffsetDegrees: 361", stated: nil) }
  }
}
