import Devices
import MonotonicTime
import Testing

@testable import Hub

struct CurrentDirectionTests {
  private static func take(_ direction: inout CurrentDirection, _ shuntVolts: Double, at seconds: Double) -> Bool? {
    let instant = MonotonicInstant(nanoseconds: Int64(seconds * 1e9))
    return direction.take(SupplySample(at: instant, volts: 3.3, shuntVolts: shuntVolts))
  }

  @Test func `a current away from the load counts once it has lasted for two seconds`() {
    var direction = CurrentDirection()
    #expect(Self.take(&direction, -0.01, at: 1) == nil && Self.take(&direction, -0.01, at: 2) == nil)
    #expect(Self.take(&direction, -0.01, at: 3) == true && direction.isReversed)
    #expect(Self.take(&direction, -0.01, at: 4) == nil)
    #expect(Self.take(&direction, 0, at: 5) == nil && direction.isReversed)
    #expect(Self.take(&direction, 0.01, at: 6) == false && !direction.isReversed)
  }

  @Test func `the current that a device feeds back for a moment does not count`() {
    var direction = CurrentDirection()
    for start in stride(from: 1.0, to: 20, by: 2) {
      #expect(Self.take(&direction, -0.01, at: start) == nil)
      #expect(Self.take(&direction, -0.01, at: start + 1.5) == nil)
      #expect(Self.take(&direction, 0.01, at: start + 1.9) == nil)
    }
    #expect(Self.take(&direction, -0.01, at: 30) == nil)
    // The monitor slept.
    direction.pause()
    #expect(Self.take(&direction, -0.01, at: 90) == nil)
  }

  @Test func `the offset of a chip does not count, and a few milliamperes through a large shunt do`() {
    var direction = CurrentDirection()
    for second in 1...10 { #expect(Self.take(&direction, -0.0001, at: Double(second)) == nil) }
    #expect(Self.take(&direction, -0.003, at: 11) == nil && Self.take(&direction, -0.003, at: 13) == true)
  }
}
