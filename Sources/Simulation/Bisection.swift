extension Range<Int64> {
  /// Returns the first number for which `holds` is false. `holds` must be true for all smaller numbers and false for
  /// all larger numbers. If `holds` is true for all numbers, returns the last number.
  ///
  /// The twins use this to find the raw value of a measurement whose formula has no inverse.
  func bisect(_ holds: (Int64) -> Bool) -> Int64 {
    var low = lowerBound - 1
    var high = upperBound - 1
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if holds(middle) { low = middle } else { high = middle }
    }
    return high
  }
}
