extension Range<Int64> {
  /// The first number for which something does not hold that holds for all before it; the last number where it holds for all.
  ///
  /// That is how twins find the raw number of a measurement whose formula cannot be turned round.
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
