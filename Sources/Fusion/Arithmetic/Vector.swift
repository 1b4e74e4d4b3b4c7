// The reductions of SIMD3 leave the order of the additions to the compiler. These functions fix the order, so that a
// replay produces the same bits in every build.

@inline(__always)
func dot(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double { a.x * b.x + a.y * b.y + a.z * b.z }

@inline(__always)
func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
  SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

extension SIMD3<Double> {
  @inline(__always)
  var length: Double { dot(self, self).squareRoot() }

  @inline(__always)
  var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }

  @inline(__always)
  func clamped(to limit: Double) -> SIMD3<Double> {
    SIMD3(
      Swift.max(-limit, Swift.min(limit, x)), Swift.max(-limit, Swift.min(limit, y)),
      Swift.max(-limit, Swift.min(limit, z)))
  }
}
