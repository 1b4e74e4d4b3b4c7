import Glibc
import Guarding
import Publishing
import Synchronization
import TestSupport
import Testing

/// Several simultaneous senders: which thread delivers and for how long, and that no value is lost, reordered or stuck.
@Suite(.timeLimit(.minutes(10)))
struct SenderTests {
  /// A value with its sender and its number among the sender's values.
  struct Mark: Hashable, Sendable {
    var sender: Int
    var number: Int
    /// How many times a handler must send it on.
    var hops = 0
  }

  /// Records the values of one subscriber, and whether its handler ever ran twice at the same time.
  final class Witness: Sendable {
    private let inside = Atomic(0)
    private let overlaps = Atomic(0)
    private let seen = Guarded<[Mark]>([])
    private let news: News

    /// - Parameter news: gets an event for each value
    init(_ news: News = News()) { self.news = news }

    var marks: [Mark] { seen.withLock { $0 } }
    var count: Int { seen.withLock { $0.count } }
    var hasOverlapped: Bool { overlaps.load(ordering: .relaxed) > 0 }

    func receive(_ mark: Mark) {
      if inside.wrappingAdd(1, ordering: .relaxed).oldValue > 0 { overlaps.wrappingAdd(1, ordering: .relaxed) }
      seen.withLock { $0.append(mark) }
      news.came()
      inside.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Blocks until the last value is this one.
    ///
    /// - Returns: whether it was before the deadline of a test
    func waits(forLast mark: Mark) -> Bool { news.waits { marks.last == mark } }

    /// Whether the values of each sender arrived in the order in which they were sent.
    var keepsEachSendersOrder: Bool {
      var last: [Int: Int] = [:]
      for mark in marks where mark.hops == 0 {
        if mark.number <= last[mark.sender] ?? -1 { return false }
        last[mark.sender] = mark.number
      }
      return true
    }
  }

  /// Counts the deliveries of each thread within one call.
  final class Deliveries: Sendable {
    private let counts = Guarded<[pthread_t: Int]>([:])

    func count() { counts.withLock { $0[pthread_self(), default: 0] += 1 } }

    /// The number of deliveries that the calling thread makes during `body`.
    func during(_ body: () -> Void) -> Int {
      counts.withLock { $0[pthread_self()] = 0 }
      body()
      return counts.withLock { $0[pthread_self()] ?? 0 }
    }
  }

  /// Keeps a handler busy for some microseconds, longer than a sender takes to send again.
  private static func work() {
    var random = SeededRandom(seed: 1)
    var sum: UInt64 = 0
    for _ in 0..<2000 { sum &+= random.next() }
    if sum == 0 { Issue.record("the numbers are not random") }
  }

  @Test(arguments: [2, 5])
  func `a send returns after its share of the work, even if others never stop sending`(_ senders: Int) async {
    let subject = Subject<Mark, Never>()
    let witness = Witness()
    let deliveries = Deliveries()
    let subscription = subject.subscribe(
      as: "slow",
      receiveValue: { mark in
        deliveries.count()
        witness.receive(mark)
        SenderTests.work()
      })
    let longest = Atomic(0)
    let done = Recorder<Int>()
    let each = 4000
    for sender in 0..<senders {
      let error = DetachedThread.start("sender \(sender)") {
        for number in 0..<each {
          let count = deliveries.during { subject.send(Mark(sender: sender, number: number)) }
          _ = longest.max(count, ordering: .relaxed)
        }
        done.append(sender)
      }
      #expect(error == 0)
    }
    await done.first(senders)
    // A thread delivers its own value, its share of 16, and the 16 that the queue holds if no sender is waiting.
    #expect(longest.load(ordering: .relaxed) <= 1 + 16 + 16)
    #expect(witness.count == senders * each)
    #expect(witness.keepsEachSendersOrder)
    #expect(!witness.hasOverlapped)
    subscription.cancel()
  }

  @Test func `a send to one of several merged publishers also returns after its share of the work`() async {
    let subjects = (0..<3).map { _ in Subject<Mark, Never>() }
    let witness = Witness()
    let deliveries = Deliveries()
    let subscription = subjects[0].merge(with: subjects[1], subjects[2]).subscribe(
      as: "slow",
      receiveValue: { mark in
        deliveries.count()
        witness.receive(mark)
        SenderTests.work()
      })
    let longest = Atomic(0)
    let done = Recorder<Int>()
    let each = 3000
    for (sender, subject) in subjects.enumerated() {
      // While sending, each thread delivers for its own subject or waits to deliver to the merged publisher.
      let error = DetachedThread.start("sender \(sender)") {
        for number in 0..<each {
          let count = deliveries.during { subject.send(Mark(sender: sender, number: number)) }
          _ = longest.max(count, ordering: .relaxed)
        }
        done.append(sender)
      }
      #expect(error == 0)
    }
    await done.first(subjects.count)
    #expect(longest.load(ordering: .relaxed) <= 1 + 16 + 16)
    #expect(witness.count == subjects.count * each)
    #expect(witness.keepsEachSendersOrder)
    #expect(!witness.hasOverlapped)
    subscription.cancel()
  }

  @Test func `staging a value never waits, and asks for a delivery slot once the queue is full`() {
    let property = MutableProperty(0)
    let seen = Recorder<Int>()
    let mayLeave = StopSignal()
    let subscription = property.subscribe(
      as: "stuck",
      receiveValue: { value in
        seen.append(value)
        guard value == 1 else { return }
        hold { mayLeave.isSet }
      })
    let error = DetachedThread.start("sender") { property.value = 1 }
    #expect(error == 0)
    #expect(seen.waits { $0 == [0, 1] })
    let lock = Guarded(())
    let mustDeliver = (2...20).map { value in lock.withLock { _ in property.stage(value) } }
    #expect(mustDeliver == Array(repeating: false, count: 16) + Array(repeating: true, count: 3))
    #expect(seen.values == [0, 1])
    mayLeave.set()
    property.deliver()
    #expect(seen.waits { $0.count == 21 })
    #expect(seen.values == Array(0...20))
    subscription.cancel()
  }

  @Test func `settling waits for the handlers that another thread calls`() {
    let property = MutableProperty(0)
    let (came, seen) = (Recorder<Int>(), Recorder<Int>())
    let mayLeave = StopSignal()
    let subscription = property.subscribe(
      as: "slow",
      receiveValue: { value in
        came.append(value)
        if value == 1 { hold { mayLeave.isSet } }
        // A handler does not wait for itself.
        property.settle()
        seen.append(value)
      })
    property.settle()
    #expect(seen.values == [0])
    let error = DetachedThread.start("sender") { property.value = 1 }
    #expect(error == 0)
    #expect(came.waits { $0.last == 1 } && property.value == 1)
    for value in 2...4 { property.value = value }
    #expect(seen.values == [0])
    let settling = DetachedThread.start("settling") {
      property.settle()
      seen.append(-1)
    }
    #expect(settling == 0)
    mayLeave.set()
    property.settle()
    #expect(seen.values.prefix(5) == [0, 1, 2, 3, 4])
    #expect(seen.waits { $0.count == 6 })
    #expect(seen.values == [0, 1, 2, 3, 4, -1])
    subscription.cancel()
  }

  @Test func `all values that several threads stage under one lock arrive in the order of the lock`() async {
    let property = MutableProperty(0)
    let next = Guarded(0)
    let seen = Recorder<Int>()
    let subscription = property.subscribe(
      as: "slow",
      receiveValue: { value in
        seen.append(value)
        SenderTests.work()
      })
    let done = Recorder<Int>()
    for sender in 0..<4 {
      let error = DetachedThread.start("sender \(sender)") {
        for _ in 0..<2000 {
          let mustDeliver = next.withLock { next in
            next += 1
            return property.stage(next)
          }
          if mustDeliver { property.deliver() }
        }
        done.append(sender)
      }
      #expect(error == 0)
    }
    await done.first(4)
    await seen.first(8001)
    #expect(seen.values == Array(0...8000))
    #expect(property.value == 8000)
    subscription.cancel()
  }

  @Test func `a handler may send more values than the queue holds`() {
    let subject = Subject<Int, Fault>()
    let first = Listener()
    let second = Listener()
    let subscriptions = [
      first.subscribe(to: subject),
      subject.subscribe(as: "flood", receiveValue: { if $0 == 0 { for value in 1...100 { subject.send(value) } } }),
      second.subscribe(to: subject),
    ]
    subject.send(0)
    #expect(first.values == Array(0...100))
    #expect(second.values == Array(0...100))
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `subjects that send to each other from inside their handlers do not deadlock`() async {
    let seed = Seed()
    let subjects = (0..<3).map { _ in Subject<Mark, Never>() }
    let early = subjects.map { _ in Witness() }
    let news = News()
    let late = subjects.map { _ in Witness(news) }
    let lifetime = Lifetime()
    for (index, subject) in subjects.enumerated() {
      subject.subscribe(as: "early", receiveValue: { early[index].receive($0) }).store(in: lifetime)
      subject.subscribe(
        as: "on",
        receiveValue: { mark in
          SenderTests.work()
          guard mark.hops > 0 else { return }
          // Values travel in both directions, so that circles occur.
          let next = (index + (mark.number % 2 == 0 ? 1 : 2)) % 3
          subjects[next].send(Mark(sender: mark.sender, number: mark.number, hops: mark.hops - 1))
        }
      ).store(in: lifetime)
      subject.subscribe(as: "late", receiveValue: { late[index].receive($0) }).store(in: lifetime)
    }
    let senders = 6
    let each = 1500
    let sent = Atomic(0)
    let done = Recorder<Int>()
    for sender in 0..<senders {
      let error = DetachedThread.start("sender \(sender)") {
        var random = seed.random(sender)
        for number in 0..<each {
          let hops = Int(random.next() % 4)
          sent.wrappingAdd(1 + hops, ordering: .relaxed)
          subjects[Int(random.next() % 3)].send(Mark(sender: sender, number: number, hops: hops))
        }
        done.append(sender)
      }
      #expect(error == 0)
    }
    await done.first(senders)
    let isComplete = news.waits { late.map(\.count).reduce(0, +) == sent.load(ordering: .relaxed) }
    #expect(isComplete, "\(seed): values are stuck")
    for (early, late) in zip(early, late) {
      #expect(early.marks == late.marks, "\(seed): two orders")
      #expect(!early.hasOverlapped && !late.hasOverlapped, "\(seed): handlers overlapped")
    }
    lifetime.end()
  }

  @Test func `each subscriber gets one completion and nothing after it, however many threads send`() async {
    let seed = Seed()
    let subject = Subject<Int, Fault>()
    let rounds = 300
    let isOver = Atomic(false)
    let done = Recorder<Int>()
    for sender in 0..<3 {
      let error = DetachedThread.start("sender \(sender)") {
        var random = seed.random(sender)
        while !isOver.load(ordering: .relaxed) {
          subject.send(sender)
          if random.next() % 8 == 0 { subject.subscribe(as: "passing", receiveValue: { _ in }).cancel() }
        }
        done.append(sender)
      }
      #expect(error == 0)
    }
    for round in 0..<rounds {
      let listeners = (0..<3).map { _ in Listener() }
      let subscriptions = listeners.map { $0.subscribe(to: subject) }
      subject.finish(round % 2 == 0 ? .finished : .failed(.broken))
      let isEnd: @Sendable (Listener.Event) -> Bool = { $0 == .finished || $0 == .failed(.broken) }
      for listener in listeners { _ = await listener.events.first(where: isEnd) }
      for listener in listeners {
        let events = listener.events.values
        #expect(events.count(where: isEnd) == 1 && events.last.map(isEnd) == true, "\(seed)")
      }
      for subscription in subscriptions { subscription.cancel() }
    }
    isOver.store(true, ordering: .relaxed)
    await done.first(3)
  }

  @Test func `threads that send, stage, subscribe, cancel and finish at random do not deadlock`() async {
    let seed = Seed()
    let subjects = (0..<2).map { _ in Subject<Mark, Never>() }
    let property = MutableProperty(Mark(sender: -1, number: 0))
    let order = Guarded(0)
    let onward = Lifetime()
    let counts = subjects.map { _ in Witness() }
    let ofProperty = Witness()
    for (index, subject) in subjects.enumerated() {
      subject.subscribe(
        as: "onward",
        receiveValue: { mark in
          counts[index].receive(mark)
          if mark.hops > 0 { subjects[1 - index].send(Mark(sender: mark.sender, number: mark.number)) }
          if mark.number % 5 == 0 { property.value = mark }
        }
      ).store(in: onward)
    }
    property.subscribe(
      as: "back",
      receiveValue: { mark in
        ofProperty.receive(mark)
        if mark.number % 3 == 0 { subjects[0].send(Mark(sender: mark.sender, number: 1)) }
      }
    ).store(in: onward)
    let done = Recorder<Int>()
    let senders = 6
    for sender in 0..<senders {
      let error = DetachedThread.start("sender \(sender)") {
        var random = seed.random(sender)
        var held: [Subscription] = []
        for number in 0..<3000 {
          let subject = subjects[Int(random.next() % 2)]
          switch random.next() % 8 {
          case 0...3: subject.send(Mark(sender: sender, number: number, hops: Int(random.next() % 2)))
          case 4:
            let mustDeliver = order.withLock { order in
              order += 1
              return property.stage(Mark(sender: sender, number: order))
            }
            if mustDeliver { property.deliver() }
          case 5:
            held.append(
              subject.subscribe(
                as: "passing", receiveValue: { if $0.number % 7 == 0 { property.value = Mark(sender: 9, number: 1) } }))
          case 6: if !held.isEmpty { held.remove(at: Int(random.next() % UInt64(held.count))).cancel() }
          default: held.append(property.subscribe(as: "passing", receiveValue: { _ in }))
          }
          if held.count > 8 { held.removeFirst().cancel() }
        }
        done.append(sender)
      }
      #expect(error == 0)
    }
    await done.first(senders)
    // A new sender finds no delivering thread and an empty queue.
    let last = Mark(sender: 100, number: 1)
    for (subject, witness) in zip(subjects, counts) {
      subject.send(last)
      #expect(witness.waits(forLast: last), "\(seed)")
      #expect(!witness.hasOverlapped, "\(seed): handlers overlapped")
    }
    #expect(!ofProperty.hasOverlapped, "\(seed): handlers overlapped")
    onward.end()
  }
}
