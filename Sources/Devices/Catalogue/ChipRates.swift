extension [Double] {
  /// The place, among a chip's rates, of the slowest that is no slower than a wish, a rounding apart; of the fastest for more.
  ///
  /// - Precondition: in ascending order, and not empty
  func slowestRate(for wishHz: Double) -> Int { firstIndex { $0 >= wishHz * 0.95 } ?? count - 1 }
}
