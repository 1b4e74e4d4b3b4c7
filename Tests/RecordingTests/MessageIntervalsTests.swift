import Testing

@testable import Recording

/// The typical interval between messages.
struct MessageIntervalsTests {
  private func intervals(_ files: [StrideTo<Double>]) -> MessageIntervals {
    var intervals = MessageIntervals()
    for file in files {
      intervals.beginFile()
      for second in file { intervals.add(logTimeNanoseconds: UInt64(second * 1e9)) }
    }
    return intervals
  }

  @Test func `the rate of overlapping files is not the sum of theirs, and the time between files does not count`() {
    let one = intervals([stride(from: 100, to: 160, by: 0.1)])
    let same = intervals([stride(from: 100, to: 160, by: 0.1), stride(from: 100.05, to: 160, by: 0.1)])
    let later = intervals([stride(from: 100, to: 160, by: 0.1), stride(from: 5000, to: 5060, by: 0.1)])
    for intervals in [one, same, later] { #expect(abs((intervals.meanRateHz ?? 0) - 10) < 0.01) }
    #expect(same.count == 1200 && later.pauseCount == 1)
  }

  @Test func `a handful of messages or fewer give no rate`() {
    for count in 0..<5 { #expect(intervals([stride(from: 0, to: Double(count), by: 1)]).meanRateHz == nil) }
    #expect(intervals([stride(from: 0, to: 5, by: 1)]).meanRateHz == 1)
    // Many messages at one instant give no interval either.
    var many = MessageIntervals()
    for _ in 0..<10 { many.add(logTimeNanoseconds: 7) }
    #expect(many.meanRateHz == nil)
  }
}
