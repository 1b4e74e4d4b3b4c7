extension Int64 {
  /// The sum, limited to the range of the type.
  public func clampedSum(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }
}
