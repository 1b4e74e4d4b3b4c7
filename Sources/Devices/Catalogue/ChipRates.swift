extension [Double] {
  /// The index of the slowest rate that is not slower than requested, apart from rounding; the fastest if none is.
  ///
  /// - Precondition: the rates are in ascending order, and not empty
  func slowestRate(for requestedHz: Double) -> Int { firstIndex { $0 >= requestedHz * 0.95 } ?? count - 1 }
}
