/// The uncertainty of the navigation state: the covariance of its fifteen errors, in blocks of 3×3.
///
/// The errors, in this order: position p and velocity v (north, east, down; m, m/s), attitude t (a small rotation
/// about north, east, down; rad), gyroscope bias g and accelerometer bias a (sensor's axes; rad/s, m/s²). Each is
/// truth minus estimate. Only the upper triangle is stored, so that rounding cannot make the matrix asymmetric.
struct ErrorCovariance: Equatable, Sendable {
  var pp, pv, pt, pg, pa: Matrix3
  var vv, vt, vg, va: Matrix3
  var tt, tg, ta: Matrix3
  var gg, ga: Matrix3
  var aa: Matrix3

  /// Independent errors with these variances.
  init(
    position: SIMD3<Double>, velocity: SIMD3<Double>, attitude: SIMD3<Double>, gyroscopeBias: SIMD3<Double>,
    accelerometerBias: SIMD3<Double>
  ) {
    (pv, pt, pg, pa, vt, vg, va, tg, ta, ga) = (.zero, .zero, .zero, .zero, .zero, .zero, .zero, .zero, .zero, .zero)
    pp = Matrix3(diagonal: position)
    vv = Matrix3(diagonal: velocity)
    tt = Matrix3(diagonal: attitude)
    gg = Matrix3(diagonal: gyroscopeBias)
    aa = Matrix3(diagonal: accelerometerBias)
  }

  /// P ← Φ P Φ', where
  ///
  ///     p ← p + Δt v,  v ← v + F t - B a,  t ← t - B g
  ///
  /// - Parameters:
  ///   - f: F, the negative cross product matrix of the specific force, times Δt
  ///   - b: B, the rotation from the sensor's axes to north, east, down, times Δt
  mutating func predict(seconds dt: Double, f: Matrix3, b: Matrix3) {
    // Rows first: M = Φ P.
    let mpp = pp + dt * pv.transposed
    let mpv = pv + dt * vv
    let mpt = pt + dt * vt
    let mpg = pg + dt * vg
    let mpa = pa + dt * va
    let mvv = vv + f * vt.transposed - b * va.transposed
    let mvt = vt + f * tt - b * ta.transposed
    let mvg = vg + f * tg - b * ga.transposed
    let mva = va + f * ta - b * aa
    let mtt = tt - b * tg.transposed
    let mtg = tg - b * gg
    let mta = ta - b * ga
    let ft = f.transposed
    let bt = b.transposed
    // Then columns: M Φ'.
    pp = (mpp + dt * mpv).symmetrized
    pv = mpv + mpt * ft - mpa * bt
    pt = mpt - mpg * bt
    pg = mpg
    pa = mpa
    vv = (mvv + mvt * ft - mva * bt).symmetrized
    vt = mvt - mvg * bt
    vg = mvg
    va = mva
    tt = (mtt - mtg * bt).symmetrized
    tg = mtg
    ta = mta
  }

  /// Adds the noise of one step to the variances, and to the covariance of position and velocity.
  mutating func addNoise(
    position: Double, positionVelocity: Double, velocity: Double, attitude: SIMD3<Double>, gyroscopeBias: Double,
    accelerometerBias: Double
  ) {
    pp = pp.addingToDiagonal(SIMD3(repeating: position))
    pv = pv.addingToDiagonal(SIMD3(repeating: positionVelocity))
    vv = vv.addingToDiagonal(SIMD3(repeating: velocity))
    tt = tt.addingToDiagonal(attitude)
    gg = gg.addingToDiagonal(SIMD3(repeating: gyroscopeBias))
    aa = aa.addingToDiagonal(SIMD3(repeating: accelerometerBias))
  }

  /// A row with one element per error: a measurement's matrix H, or P H', or a gain.
  struct Row: Equatable, Sendable {
    var p = SIMD3<Double>.zero
    var v = SIMD3<Double>.zero
    var t = SIMD3<Double>.zero
    var g = SIMD3<Double>.zero
    var a = SIMD3<Double>.zero

    @inline(__always)
    static func dot(_ x: Row, _ y: Row) -> Double {
      Fusion.dot(x.p, y.p) + Fusion.dot(x.v, y.v) + Fusion.dot(x.t, y.t) + Fusion.dot(x.g, y.g) + Fusion.dot(x.a, y.a)
    }

    @inline(__always)
    static func * (scale: Double, x: Row) -> Row {
      Row(p: scale * x.p, v: scale * x.v, t: scale * x.t, g: scale * x.g, a: scale * x.a)
    }

    @inline(__always)
    static func += (x: inout Row, y: Row) {
      x.p += y.p
      x.v += y.v
      x.t += y.t
      x.g += y.g
      x.a += y.a
    }
  }

  /// P H' for one measurement.
  @inline(__always)
  func times(_ h: Row) -> Row {
    // One product per statement: Swift 6.2 takes seconds to type-check a sum of five.
    var product = Row()
    product.p = pp * h.p
    product.p += pv * h.v
    product.p += pt * h.t
    product.p += pg * h.g
    product.p += pa * h.a
    product.v = pv.combined(h.p)
    product.v += vv * h.v
    product.v += vt * h.t
    product.v += vg * h.g
    product.v += va * h.a
    product.t = pt.combined(h.p)
    product.t += vt.combined(h.v)
    product.t += tt * h.t
    product.t += tg * h.g
    product.t += ta * h.a
    product.g = pg.combined(h.p)
    product.g += vg.combined(h.v)
    product.g += tg.combined(h.t)
    product.g += gg * h.g
    product.g += ga * h.a
    product.a = pa.combined(h.p)
    product.a += va.combined(h.v)
    product.a += ta.combined(h.t)
    product.a += ga.combined(h.g)
    product.a += aa * h.a
    return product
  }

  /// Applies one scalar measurement in Joseph's form, which keeps P positive for any gain:
  ///
  ///     P ← (1 - K H) P (1 - K H)' + K R K' = P - K G' - G K' + s K K',   G = P H', s = H G + R
  ///
  /// - Returns: the gain K
  @discardableResult
  mutating func correct(_ h: Row, variance r: Double) -> Row {
    let g = times(h)
    let s = Row.dot(h, g) + r
    guard s > 0, s.isFinite else { return Row() }
    let k = (1 / s) * g
    // u = s K - 2 G combines the three products: K G' + G K' - s K K' = -(u K' + K u') / 2.
    let u = Row(
      p: s * k.p - 2 * g.p, v: s * k.v - 2 * g.v, t: s * k.t - 2 * g.t, g: s * k.g - 2 * g.g, a: s * k.a - 2 * g.a)
    func add(_ m: inout Matrix3, _ ui: SIMD3<Double>, _ ki: SIMD3<Double>, _ uj: SIMD3<Double>, _ kj: SIMD3<Double>) {
      let hu = 0.5 * uj
      let hk = 0.5 * kj
      m.rows.0 += ui.x * hk + ki.x * hu
      m.rows.1 += ui.y * hk + ki.y * hu
      m.rows.2 += ui.z * hk + ki.z * hu
    }
    add(&pp, u.p, k.p, u.p, k.p)
    add(&pv, u.p, k.p, u.v, k.v)
    add(&pt, u.p, k.p, u.t, k.t)
    add(&pg, u.p, k.p, u.g, k.g)
    add(&pa, u.p, k.p, u.a, k.a)
    add(&vv, u.v, k.v, u.v, k.v)
    add(&vt, u.v, k.v, u.t, k.t)
    add(&vg, u.v, k.v, u.g, k.g)
    add(&va, u.v, k.v, u.a, k.a)
    add(&tt, u.t, k.t, u.t, k.t)
    add(&tg, u.t, k.t, u.g, k.g)
    add(&ta, u.t, k.t, u.a, k.a)
    add(&gg, u.g, k.g, u.g, k.g)
    add(&ga, u.g, k.g, u.a, k.a)
    add(&aa, u.a, k.a, u.a, k.a)
    limit()
    return k
  }

  /// Transforms P after the attitude was corrected, because the attitude error is relative to the new attitude. The
  /// error is in the earth frame, truth = exp(t) · estimate, so J = 1 + [correction]×/2.
  mutating func resetAttitude(by rotation: SIMD3<Double>) {
    let j = Matrix3.identity + 0.5 * Matrix3(crossing: rotation)
    let jt = j.transposed
    pt = pt * jt
    vt = vt * jt
    tt = (j * tt * jt).symmetrized
    tg = j * tg
    ta = j * ta
  }

  /// Resets the position: removes its correlations with the other errors and sets new variances.
  mutating func restartPosition(variance: SIMD3<Double>) {
    pp = Matrix3(diagonal: variance)
    (pv, pt, pg, pa) = (.zero, .zero, .zero, .zero)
  }

  mutating func restartVelocity(variance: SIMD3<Double>) {
    vv = Matrix3(diagonal: variance)
    (pv, vt, vg, va) = (.zero, .zero, .zero, .zero)
  }

  mutating func restartBiases(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>) {
    gg = Matrix3(diagonal: gyroscope)
    aa = Matrix3(diagonal: accelerometer)
    (pg, pa, vg, va, tg, ta, ga) = (.zero, .zero, .zero, .zero, .zero, .zero, .zero)
  }

  /// Keeps variances between the resolution of the arithmetic and plausible maxima.
  private mutating func limit() {
    ErrorCovariance.clamp(&pp, 1e-8, 1e12)
    ErrorCovariance.clamp(&vv, 1e-10, 1e6)
    ErrorCovariance.clamp(&tt, 1e-12, 10)
    ErrorCovariance.clamp(&gg, 1e-14, 1)
    ErrorCovariance.clamp(&aa, 1e-10, 10)
  }

  @inline(__always)
  private static func clamp(_ m: inout Matrix3, _ least: Double, _ most: Double) {
    m.rows.0.x = max(least, min(most, m.rows.0.x))
    m.rows.1.y = max(least, min(most, m.rows.1.y))
    m.rows.2.z = max(least, min(most, m.rows.2.z))
  }
}

extension Matrix3 {
  @inline(__always)
  func addingToDiagonal(_ v: SIMD3<Double>) -> Matrix3 {
    var sum = self
    sum.rows.0.x += v.x
    sum.rows.1.y += v.y
    sum.rows.2.z += v.z
    return sum
  }
}
