import CAllocations
import Guarding
import MonotonicTime
import Publishing

/// What a value costs on its way through a lazy publisher, and from two threads at once through a subject.
struct PublishingBenchmark {
  struct Sample: Sendable {
    var values = InlineArray<12, Double>(repeating: 0)
  }

  func run() {
    for subscribers in [1, 4] { measure(subscribers) }
    measureTwoSenders()
  }

  private func measureTwoSenders() {
    let subject = Subject<Sample, Never>()
    let subscription = subject.subscribe(as: "benchmark", receiveValue: { _ in })
    let rounds = 500_000
    let finished = [MutableProperty(false), MutableProperty(false)]
    let clock = MonotonicClock()
    let start = clock.now
    for finished in finished {
      let error = DetachedThread.start("benchmark") {
        let sample = Sample()
        for _ in 0..<rounds { subject.send(sample) }
        finished.value = true
      }
      precondition(error == 0, "no thread to send from")
    }
    while !finished.allSatisfy(\.value) { pause(seconds: 0.01) }
    let seconds = (clock.now - start).inSeconds
    print("a 96-byte value of one of two senders: \(fixed(seconds / Double(2 * rounds) * 1e9, 0)) ns")
    subscription.cancel()
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
