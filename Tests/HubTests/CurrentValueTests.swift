import Fusion
import MonotonicTime
import Testing

@testable import Hub

/// When a known state is good enough for a request for one state.
struct CurrentValueTests {
  private let now = MonotonicInstant(nanoseconds: 100_000_000_000)

  private func attitude(headingSigmaRadians: Double?) -> FusedState {
    var state = FusedState(at: now)
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: .identity, inclinationSigmaRadians: 0.01, headingSigmaRadians: headingSigmaRadians), at: now,
      source: DeviceSet(0))
    state.rates = Dated(SIMD3(0, 0, 0), at: now, source: DeviceSet(0))
    state.acceleration = Dated(SIMD3(0, 0, 9.8), at: now, source: DeviceSet(0))
    return state
  }

  private func isMet(_ parts: Set<StatePart>, by state: FusedState, of kinds: Set<DeviceStatus.Kind>) -> Bool {
    CurrentValue(parts: parts, maxAge: .seconds(10)).isMet(by: state, at: now, since: nil, of: kinds)
  }

  @Test func `a request for a heading waits until the heading is known, if a device of the board can show it`() {
    let (unknown, known) = (attitude(headingSigmaRadians: nil), attitude(headingSigmaRadians: 0.1))
    #expect(!isMet([.heading], by: unknown, of: [.imu, .receiver]))
    #expect(!isMet([.heading], by: unknown, of: [.imu, .magnetometer]))
    #expect(isMet([.heading], by: known, of: [.imu, .magnetometer]))
    // Nothing on this board finds north.
    #expect(isMet([.heading], by: unknown, of: [.imu]))
    #expect(isMet([.attitude], by: unknown, of: [.imu, .receiver]))
    // A request for the whole state takes what is known.
    var whole = unknown
    whole.magneticField = Dated(SIMD3(20, 0, 40), at: now, source: DeviceSet(0))
    #expect(isMet(.all, by: whole, of: [.imu, .magnetometer]))
  }

  @Test func `a request for the time or the altitude waits for a fix that has it`() {
    var state = FusedState(at: now)
    func fix(utc: Int64?, altitude: Double?) {
      state.fix = Dated(
        FusedState.FixQuality(mode: 2, status: 1, satellitesUsed: 4, hdop: 1, utcNanoseconds: utc), at: now,
        source: DeviceSet(0))
      state.position = Dated(
        FusedState.Position(
          latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: nil, altitudeMSLMetres: altitude,
          horizontalSigmaMetres: 1, verticalSigmaMetres: nil), at: now, source: DeviceSet(0))
    }
    fix(utc: nil, altitude: nil)
    #expect(!isMet([.time], by: state, of: [.receiver]) && !isMet([.altitude], by: state, of: [.receiver]))
    #expect(isMet([.position], by: state, of: [.receiver]))
    fix(utc: 1_795_341_600_000_000_000, altitude: 38)
    #expect(isMet([.time, .altitude], by: state, of: [.receiver]))
  }
}
