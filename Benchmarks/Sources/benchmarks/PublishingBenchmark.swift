import CAllocations
import Publishing

/// What a value costs on its way through a lazy publisher.
struct PublishingBenchmark {
  struct Sample: Sendable {
    var values = InlineArray<12, Double>(repeating: 0)
  }

  func run() {
    for subscribers in [1, 4] { measure(subscribers) }
  }

  private func measure(_ count: Int) {
    let done = MutableProperty("")
    let publisher = LazyPublisher<Sample, Never>(
      "benchmark",
      reading: { (reading) throws(Never) in
        let sample = Sample()
        for _ in 0..<10_000 { reading.send(sample) }
        let rounds = 1_000_000
        let allocated = callocations_count()
        let start = callocations_thread_seconds()
        for _ in 0..<rounds { reading.send(sample) }
        let seconds = callocations_thread_seconds() - start
        let allocations = Double(callocations_count() - allocated) / Double(rounds)
        done.value =
          "a 96-byte value to \(count) subscribers: \(fixed(seconds / Double(rounds) * 1e9, 0)) ns, "
          + "\(fixed(allocations, 6)) allocations"
      })
    // Nobody leaves before the source has ended by itself.
    let subscriptions = (0..<count).map { index in publisher.subscribe(as: "\(index)", receiveValue: { _ in }) }
    while done.value.isEmpty { pause(seconds: 0.01) }
    print(done.value)
    for subscription in subscriptions { subscription.cancel() }
  }
}
