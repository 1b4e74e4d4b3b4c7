import Fusion
import Testing

struct QuaternionTests {
  @Test(arguments: [(0.1, 0.2, 0.3), (-1.0, 1.2, 3.0), (0, 0, -2)])
  func `angles survive the conversion to a quaternion and back`(_ roll: Double, _ pitch: Double, _ yaw: Double) {
    let quaternion = Quaternion(roll: roll, pitch: pitch, yaw: yaw)
    #expect(abs(quaternion.roll - roll) < 1e-12)
    #expect(abs(quaternion.pitch - pitch) < 1e-12)
    #expect(abs(quaternion.yaw - yaw) < 1e-12)
  }

  @Test func `a quarter turn of yaw takes forward to east`() {
    let east = Quaternion(roll: 0, pitch: 0, yaw: .pi / 2).rotate(SIMD3(1, 0, 0))
    #expect(abs(east.y - 1) < 1e-12)
  }

  @Test func `a rotation vector survives the conversion to a quaternion and back, however small`() {
    for vector in [SIMD3(1e-9, 0, 0), SIMD3(0.1, -0.2, 0.3), SIMD3(0, 3, 0)] {
      let back = Quaternion(rotationVector: vector).rotationVector
      let difference = back - vector
      #expect((difference * difference).sum().squareRoot() < 1e-12)
    }
  }
}
