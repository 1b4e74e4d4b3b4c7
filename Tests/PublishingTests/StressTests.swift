import Guarding
import Publishing
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StressTests {
  /// Counts the sources inside their scope, and the largest number at the same time.
  private final class Scope: Sendable {
    let inside = Atomic(0)
    let most = Atomic(0)

    func enter() {
      let now = inside.wrappingAdd(1, ordering: .relaxed).newValue
      _ = most.max(now, ordering: .relaxed)
    }

    func leave() { inside.wrappingSubtract(1, ordering: .relaxed) }
  }

  @Test func `a hundred thousand operations from eight threads leave no run and no resource behind`() async {
    let scope = Scope()
    let publisher = LazyPublisher<Int, Fault>("stress", replaysLatest: true) { (run) throws(Fault) in
      scope.enter()
      defer { scope.leave() }
      var value = 0
      while !run.stop.isSet {
        run.send(value)
        value += 1
        if value % 50 == 0 { throw .broken }
      }
    }
    let subject = Subject<Int, Fault>()
    let alive = Population()
    let done = Recorder<Int>()
    let operationsPerThread = 100_000 / 8
    let seed = Seed()
    for thread in 0..<8 {
      let error = DetachedThread.start("stress \(thread)") {
        var random = seed.random(thread)
        var held: [Subscription] = []
        for _ in 0..<operationsPerThread {
          switch random.next() % 8 {
          case 0, 1:
            let token = LifeToken(alive)
            held.append(
              publisher.subscribe(
                as: "thread \(thread)", receiveValue: { _ in token.touch() }, receiveCompletion: { _ in token.touch() })
            )
          case 2: if !held.isEmpty { held.remove(at: Int(random.next() % UInt64(held.count))).cancel() }
          case 3: if !held.isEmpty { held.removeLast() }
          case 4: subject.send(thread)
          case 5: subject.finish(.failed(.again))
          case 6:
            let token = LifeToken(alive)
            held.append(subject.subscribe(as: "subject \(thread)", receiveValue: { _ in token.touch() }))
          default: _ = publisher.activity.value
          }
          if held.count > 32 { held.removeFirst().cancel() }
        }
        held = []
        done.append(thread)
      }
      #expect(error == 0)
    }
    await done.first(8)
    #expect(publisher.activity.waits { [.idle, .failed].contains($0.phase) })
    #expect(scope.inside.load(ordering: .relaxed) == 0)
    #expect(scope.most.load(ordering: .relaxed) == 1, "two runs overlapped")
    #expect(alive.waitsForEnd(), "handlers were leaked")
    #expect(publisher.holders.isEmpty)
  }

  private final class Population: Sendable {
    private let number = Atomic(0)
    private let news = News()

    func change(by difference: Int) {
      if number.wrappingAdd(difference, ordering: .relaxed).newValue == 0 { news.came() }
    }

    /// Blocks until no token is left. Returns whether that was before the deadline of a test.
    func waitsForEnd() -> Bool { news.waits { number.load(ordering: .relaxed) == 0 } }
  }

  /// A token that lives as long as the handler that retains it.
  private final class LifeToken: Sendable {
    private let population: Population
    private let touches = Atomic(0)

    init(_ population: Population) {
      self.population = population
      population.change(by: 1)
    }

    deinit { population.change(by: -1) }

    func touch() { touches.wrappingAdd(1, ordering: .relaxed) }
  }
}
