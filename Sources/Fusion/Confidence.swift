import Glibc

/// Converts standard deviations to 95 % error bounds, the form of gpsd's error estimates.
///
/// The horizontal sigma of `FusedState` applies to one axis (the root mean square of north and east). It is not a
/// radial sigma.
public enum Confidence {
  /// The factor along one axis: the 97.5 % quantile of the normal distribution.
  public static let axis = 1.959_964
  /// The factor in the plane, with equal sigmas along both axes: the 95 % quantile of the Rayleigh distribution.
  public static let radial = 2.447_747

  /// The bound of a speed over ground, along the track. A board that is hardly faster than the error may be at rest,
  /// and then the whole error appears as speed.
  public static func speed(_ speed: Double, sigma: Double) -> Double {
    sigma * (speed < radial * sigma ? radial : axis)
  }

  /// The 95 % bound of the distance in space.
  ///
  /// The squared error is a weighted sum of chi-squares. A gamma distribution with the same mean and variance
  /// (Satterthwaite) gives its quantile, by the cube root approximation of Wilson and Hilferty, within two percent
  /// for any two sigmas.
  public static func spherical(horizontal: Double, vertical: Double) -> Double {
    let (h, v) = (horizontal * horizontal, vertical * vertical)
    let mean = 2 * h + v
    guard mean > 0 else { return 0 }
    // The variance of the cube root is one ninth of the relative variance, 2 (2 h² + v²) / mean².
    let spread = 2 * (2 * h * h + v * v) / (mean * mean) / 9
    let root = 1 - spread + 1.644_854 * spread.squareRoot()
    return (mean * root * root * root).squareRoot()
  }
}
