import Fusion
import MonotonicTime
import Outputs
import Testing

/// The state as a line of text for people.
@Suite struct StateLineTests {
  private let degrees = Double.pi / 180

  private func text(roll: Double, yaw: Double, inclination: Double, heading: Double?) -> String {
    var state = FusedState(at: MonotonicInstant(nanoseconds: 5_000_000_000))
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(roll: roll * degrees, pitch: 0, yaw: yaw * degrees),
        inclinationSigmaRadians: inclination * degrees, headingSigmaRadians: heading.map { $0 * degrees }),
      at: state.at, source: .imu)
    return StateLine.text(state)
  }

  @Test func `a large error of roll and pitch is shown after the angles`() {
    let line = text(roll: -37.2, yaw: 24, inclination: 21.4, heading: nil)
    #expect(line.contains("roll -37.2° pitch +0.0° ±21.4° heading unknown"), "\(line)")
  }

  @Test func `a heading has its error, even a small one, and is never 360 degrees`() {
    #expect(text(roll: 1, yaw: 23.7, inclination: 1.146, heading: 0.4).contains("±1.1° heading 024° ±0.4°"))
    #expect(text(roll: 1, yaw: -0.3, inclination: 0.03, heading: 0.04).contains("±0.03° heading 000° ±0.04°"))
    #expect(text(roll: 1, yaw: -90, inclination: 1, heading: 12).contains("heading 270° ±12.0°"))
  }

  @Test func `any direction is written in three digits`() {
    #expect(
      [0, 45.4, 359.6, 360, -0.4, -90, 405, 1e12].map(Text.bearing).map { $0.count } == Array(repeating: 4, count: 8))
    #expect([359.6, -90, 405].map(Text.bearing) == ["000°", "270°", "045°"])
  }
}
