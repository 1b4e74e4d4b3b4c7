import CAllocations
import Guarding
import Hub
import MonotonicTime
import Publishing
import Simulation

/// The cost of a value in a lazy publisher, and in a subject with two sending threads, and the cost of a client of a
/// hub that connects and leaves, alone and among many.
struct PublishingBenchmark {
  struct Sample: Sendable {
    var values = InlineArray<12, Double>(repeating: 0)
  }

  func run() {
    for subscribers in [1, 4] { measure(subscribers) }
    measureTwoSenders()
    for crowd in [0, 1000] { measureVisits(in: crowd) }
  }

  /// A client of the state of six devices subscribes and leaves, on a thread whose CPU time is measured.
  private func measureVisits(in crowd: Int) {
    guard let board = try? Board(json5: Array(SixDevices.board(SixDevices.all).utf8), file: "benchmark") else {
      return print("visits: the board file is wrong")
    }
    let hub = Hub(board: board, hardware: SimulatedHardware())
    let states = hub.state(rateHz: 2)
    let first = states.subscribe(as: "first", receiveValue: { _ in })
    let others = (0..<crowd).map { index in states.subscribe(as: "client \(index)", receiveValue: { _ in }) }
    pause(seconds: 3)
    let rounds = 1000
    let start = callocations_thread_seconds()
    for index in 0..<rounds { states.subscribe(as: "visitor \(index % 8)", receiveValue: { _ in }).cancel() }
    let seconds = callocations_thread_seconds() - start
    print(
      "a client of six devices that comes and goes beside \(crowd) others: "
        + "\(fixed(seconds / Double(rounds) * 1e6, 1)) us")
    for other in others { other.cancel() }
    first.cancel()
    hub.shutDown()
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
      reading: { (context) throws(Never) in
        let sample = Sample()
        for _ in 0..<10_000 { context.send(sample) }
        let rounds = 1_000_000
        let allocated = callocations_count()
        let start = callocations_thread_seconds()
        for _ in 0..<rounds { context.send(sample) }
        let seconds = callocations_thread_seconds() - start
        let allocations = Double(callocations_count() - allocated) / Double(rounds)
        done.value =
          "a 96-byte value to \(count) subscribers: \(fixed(seconds / Double(rounds) * 1e9, 0)) ns, "
          + "\(fixed(allocations, 6)) allocations"
      })
    // No subscriber leaves before the source has ended by itself.
    let subscriptions = (0..<count).map { index in publisher.subscribe(as: "\(index)", receiveValue: { _ in }) }
    while done.value.isEmpty { pause(seconds: 0.01) }
    print(done.value)
    for subscription in subscriptions { subscription.cancel() }
  }
}
