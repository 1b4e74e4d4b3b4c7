import MonotonicTime
import Testing

struct BackoffTests {
  @Test func `the delay doubles after each failure up to its maximum`() {
    let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
    #expect((1...8).map { backoff.delay(afterFailures: $0) } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    #expect(backoff.delay(afterFailures: .max) == .seconds(60))
  }
}
