extension [Double] {
  /// The index of the slowest rate that is at least 95 % of the requested one; the index of the fastest rate if there
  /// is none.
  ///
  /// - Precondition: the rates are in ascending order, and not empty
  func slowestRate(for requestedHz: Double) -> Int { firstIndex { $0 >= requestedHz * 0.95 } ?? count - 1 }
}
