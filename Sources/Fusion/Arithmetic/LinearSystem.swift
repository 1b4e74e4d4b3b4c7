/// Solves small systems of linear equations.
enum LinearSystem {
  /// The least-squares solution of the equations; `nil` if they do not determine all unknowns.
  ///
  /// - Parameters:
  ///   - rows: the coefficients, one row per equation
  ///   - values: the right-hand sides
  static func leastSquares(_ rows: [[Double]], _ values: [Double]) -> [Double]? {
    guard let count = rows.first?.count, rows.count >= count, rows.count == values.count else { return nil }
    // The normal equations, with the right-hand side as the last column.
    var matrix = Array(repeating: Array(repeating: 0.0, count: count + 1), count: count)
    for (row, value) in zip(rows, values) {
      for i in 0..<count {
        for j in 0..<count { matrix[i][j] += row[i] * row[j] }
        matrix[i][count] += row[i] * value
      }
    }
    for pivot in 0..<count {
      let best = (pivot..<count).max { abs(matrix[$0][pivot]) < abs(matrix[$1][pivot]) } ?? pivot
      guard abs(matrix[best][pivot]) > 1e-12 else { return nil }
      matrix.swapAt(pivot, best)
      for row in 0..<count where row != pivot {
        let factor = matrix[row][pivot] / matrix[pivot][pivot]
        for column in pivot...count { matrix[row][column] -= factor * matrix[pivot][column] }
      }
    }
    let solution = (0..<count).map { matrix[$0][count] / matrix[$0][$0] }
    return solution.allSatisfy { $0.isFinite } ? solution : nil
  }
}
