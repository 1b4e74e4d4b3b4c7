import Fusion
import TestSupport
import Testing

/// The examples of the library's pages (`Examples`) behave as the pages describe.
struct ExampleTests {
  @Test func `a board at rest shows its roll and pitch`() throws {
    var tilt = Tilt()
    #expect(tilt.degrees == nil)
    let board = Quaternion(roll: 0.2, pitch: -0.1, yaw: 0)
    for _ in 0..<500 {
      tilt.update(gyroscope: .zero, accelerometer: board.conjugate.rotate(SIMD3(0, 0, -9.80665)))
    }
    let shown = try #require(tilt.degrees)
    #expect(abs(shown.roll - 11.46) < 0.1 && abs(shown.pitch + 5.73) < 0.1)
  }

  /// A vehicle drives north at 10 m/s. It accelerates and brakes a little, so that the filter finds its heading.
  @Test func `a vehicle without fixes continues from its last position, with a sigma that grows`() throws {
    var navigator = Navigator()
    #expect(navigator.position == nil)
    var (metres, speed) = (0.0, 0.0)
    var sigmaWithFixes = 0.0
    for step in 1...9000 {
      let time = Double(step) * 0.01
      let acceleration = time <= 10 ? 1 : time <= 60 ? 0.3 * (Int(time) % 4 < 2 ? 1.0 : -1.0) : 0
      speed += acceleration * 0.01
      metres += speed * 0.01
      navigator.update(gyroscope: .zero, accelerometer: SIMD3(acceleration, 0, -9.80665), time: time)
      if step % 100 == 0, time <= 80 {
        navigator.update(
          latitudeDegrees: 52.5 + metres / 111_267, longitudeDegrees: 13.25, altitude: 80, sigma: 1,
          velocity: SIMD3(speed, 0, 0), time: time)
        sigmaWithFixes = navigator.position?.sigma ?? 0
      }
    }
    let (position, sigma) = try #require(navigator.position)
    #expect(navigator.isDeadReckoning)
    #expect(sigmaWithFixes > 0 && sigma > sigmaWithFixes)
    #expect(abs((position.latitudeDegrees - 52.5) * 111_267 - metres) < 20)
  }

  @Test func `the documentation shows the examples as they are compiled`() {
    let pages = LibraryPages(of: "Fusion")
    #expect(pages.shown == pages.compiled)
    #expect(pages.shown.count == 2)
  }
}
