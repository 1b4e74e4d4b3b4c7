import Devices
import Fusion
import Hub
import MonotonicTime
import Testing

/// Two inertial sensors; the preferred one measures impossible values.
struct ImplausibleStandbyTests {
  private func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 10_000_000_000 + Int64(seconds * 1e9))
  }

  private func batch(_ end: Double, _ force: SIMD3<Float>) -> IMUBatch {
    var batch = IMUBatch()
    for index in 1...10 {
      batch.append(
        IMUSample(at: instant(end - 0.1 + Double(index) / 100), gyroscope: .zero, accelerometer: force))
    }
    batch.readAt = instant(end)
    return batch
  }

  @Test func `a sensor with a wrong scale gives way to the one that stands by`() throws {
    let text = """
      { name: 'test', devices: { imu: { driver: 'mpu-6050', bus: 'nowhere', rateHz: 100, burstRateHz: 10 },
        spare: { driver: 'bmi160', bus: 'nowhere', rateHz: 100, burstRateHz: 10 } } }
      """
    var fuser = Fuser(try Board(json5: Array(text.utf8), file: "test"))
    _ = fuser.apply(.begin(FusionKnowledge()), at: instant(0))
    var sources: [DeviceSet?] = []
    for tenth in 1...200 {
      let end = Double(tenth) / 10
      // From 5 s on, the preferred sensor shows twice gravity.
      _ = fuser.apply(.imu(0, batch(end, SIMD3(0, 0, tenth > 50 ? -19.6133 : -9.80665))), at: instant(end))
      let state = fuser.apply(.imu(1, batch(end, SIMD3(0, 0, -9.80665))), at: instant(end + 0.001))
      sources.append(state?.attitude?.source)
    }
    #expect(sources[40] == DeviceSet(0))
    // Two seconds at rest prove the wrong scale. The sensor is then not used again.
    #expect(sources.dropFirst(80).allSatisfy { $0 == DeviceSet(1) })
    #expect(fuser.finding(of: 0) != nil && fuser.finding(of: 1) == nil)
  }

  @Test func `a sensor that was implausible is used again if the other one falls silent and it has become plausible`() {
    var choice = StandbyChoice(count: 2)
    func take(_ rank: Int, _ seconds: Double) -> Bool { choice.take(rank, at: instant(seconds)) }
    #expect(take(0, 0) && !take(1, 0))
    choice.note(isImplausible: true, 0)
    #expect(take(0, 0.1) && take(1, 0.1) && !take(0, 0.2))
    for tenth in 2...50 { #expect(take(1, Double(tenth) / 10) && !take(0, Double(tenth) / 10)) }
    #expect(take(0, 5.5))
    choice.note(isImplausible: false, 0)
    #expect(take(0, 5.6) && !take(1, 5.6))
  }
}
