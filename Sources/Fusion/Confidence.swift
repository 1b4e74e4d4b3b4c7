import Glibc

/// From standard deviations to the errors that 95 of 100 stay below, as gpsd's estimates mean them.
///
/// `FusedState`'s horizontal sigma is that of one axis (the root mean square of north and east), not the radial one.
public enum Confidence {
  /// Along one axis: the normal distribution's 97.5 % quantile.
  public static let axis = 1.959_964
  /// In the plane, for equal sigmas along both axes: the Rayleigh distribution's 95 % quantile.
  public static let radial = 2.447_747

  /// Of a speed over ground: what lies along the track. Who is hardly faster than the error may be at rest, and then all
  /// of the error is speed.
  public static func speed(_ speed: Double, sigma: Double) -> Double {
    sigma * (speed < radial * sigma ? radial : axis)
  }

  /// In space.
  ///
  /// The squared error is a weighted sum of chi-squares; a gamma distribution with the same mean and variance
  /// (Satterthwaite) has its quantile by Wilson and Hilferty's cube root, within two percent for any two sigmas.
  public static func spherical(horizontal: Double, vertical: Double) -> Double {
    let (h, v) = (horizontal * horizontal, vertical * vertical)
    let mean = 2 * h + v
    guard mean > 0 else { return 0 }
    // A ninth of twice the variance over the squared mean, the cube root's own variance.
    let spread = 2 * (2 * h * h + v * v) / (mean * mean) / 9
    let root = 1 - spread + 1.644_854 * spread.squareRoot()
    return (mean * root * root * root).squareRoot()
  }
}
