/// GPS weeks, counted since 1980-01-06.
enum GPSWeek {
  /// Returns the week if the week, the time of week and its fraction are in range, otherwise `nil`. A message with a
  /// correct checksum may still contain a wrong number.
  static func plausible(_ week: Int16, timeOfWeekMilliseconds: UInt32, fractionNanoseconds: Int32) -> Int16? {
    let isPlausible =
      (1..<8000).contains(week) && timeOfWeekMilliseconds < 604_800_000
      && (-1_000_000_000...1_000_000_000).contains(fractionNanoseconds)
    return isPlausible ? week : nil
  }
}
