import Glibc
import NMEA

/// The dilutions of precision that follow from where the satellites in use stand: by how much the errors of the ranges
/// grow on their way to a position and a time.
///
/// The diagonal of the inverse of HᵀH, with a row of H for each satellite: the direction to it (east, north, up) and 1 for
/// the receiver's clock.
struct SkyDilution: Equatable {
  var x: Double
  var y: Double
  var vertical: Double
  var time: Double

  var horizontal: Double { (x * x + y * y).squareRoot() }
  var position: Double { (x * x + y * y + vertical * vertical).squareRoot() }
  var geometric: Double { (x * x + y * y + vertical * vertical + time * time).squareRoot() }

  /// `nil` where fewer than four satellites in use have a direction, or where those do not determine a position.
  init?(_ sky: Sky) {
    var seen: Set<SatelliteNumber> = []
    var matrix = [[Double]](repeating: [Double](repeating: 0, count: 8), count: 4)
    for row in 0..<4 { matrix[row][4 + row] = 1 }
    for index in 0..<sky.count {
      let satellite = sky[index]
      // A satellite on two frequencies is one direction.
      guard satellite.isUsed, satellite.hasDirection, seen.insert(satellite.number).inserted else { continue }
      let elevation = Double(satellite.elevationDegrees) * .pi / 180
      let azimuth = Double(satellite.azimuthDegrees) * .pi / 180
      let direction = [cos(elevation) * sin(azimuth), cos(elevation) * cos(azimuth), sin(elevation), 1]
      for i in 0..<4 { for j in 0..<4 { matrix[i][j] += direction[i] * direction[j] } }
    }
    guard seen.count >= 4, SkyDilution.invert(&matrix) else { return nil }
    let variances = (0..<4).map { matrix[$0][4 + $0] }
    // What is nearly singular is no dilution that anybody could use.
    guard variances.allSatisfy({ $0 > 0 && $0 < 1e4 }) else { return nil }
    x = variances[0].squareRoot()
    y = variances[1].squareRoot()
    vertical = variances[2].squareRoot()
    time = variances[3].squareRoot()
  }

  /// Turns the left half into the identity, and so the right half into the inverse (Gauss and Jordan).
  private static func invert(_ matrix: inout [[Double]]) -> Bool {
    for pivot in 0..<4 {
      let best = (pivot..<4).max { abs(matrix[$0][pivot]) < abs(matrix[$1][pivot]) } ?? pivot
      guard abs(matrix[best][pivot]) > 1e-9 else { return false }
      matrix.swapAt(pivot, best)
      let scale = matrix[pivot][pivot]
      for column in 0..<8 { matrix[pivot][column] /= scale }
      for row in 0..<4 where row != pivot {
        let factor = matrix[row][pivot]
        for column in 0..<8 { matrix[row][column] -= factor * matrix[pivot][column] }
      }
    }
    return true
  }
}

extension Satellite {
  /// A receiver that does not know where a satellite stands leaves both angles out, and they are read as 0. One that
  /// stands exactly north on the horizon is not received.
  var hasDirection: Bool { elevationDegrees != 0 || azimuthDegrees != 0 }
}
