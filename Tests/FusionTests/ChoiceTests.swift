import Fusion
import MonotonicTime
import Testing

/// The choice among several devices that measure the same quantity.
struct ChoiceTests {
  private func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(seconds * 1e9)) }

  @Test func `a second sensor takes over from the first, which is used again once it has worked for a while`() {
    var choice = StandbyChoice(count: 3)
    var used: [Int] = []
    var changes: [Double] = []
    // The first sensor is silent from 2 to 4 s, and has a short gap at 5 s. The second one measures from 1 s on.
    for step in 0..<1000 {
      let time = Double(step) / 100
      let isHiccup = (5.0..<5.4).contains(time)
      for rank in [0, 2] where rank == 2 ? time > 1 : !(2.0..<4.0).contains(time) && !isHiccup {
        guard choice.take(rank, at: at(time)) else { continue }
        if let last = used.last, last != rank { changes.append(time) }
        used.append(rank)
      }
    }
    #expect(changes.count == 2 && abs(changes[0] - 2.3) < 0.03 && abs(changes[1] - 8.4) < 0.03, "\(changes)")
    #expect(used.first == 0 && used.last == 0 && used.contains(2) && !used.contains(1))
  }

  @Test func `times that go back repeatedly do not change the choice`() {
    var choice = ReceiverChoice(count: 2)
    for second in 0..<400 {
      let isTaken = [2.0, 2.0].enumerated().map { rank, sigma in
        choice.take(rank, sigma: sigma, at: at(Double(1000 - second) + 0.3 * Double(rank)))
      }
      #expect(isTaken == [true, false])
    }
    // When the first receiver falls silent, the other one is used as quickly as before.
    for second in 2000..<2020 { _ = choice.take(0, sigma: 2, at: at(Double(second))) }
    let others = (2020..<2026).map { choice.take(1, sigma: 2, at: at(Double($0))) }
    #expect(others.first == false && others.last == true, "\(others)")
  }

  @Test func `a more accurate receiver is chosen after a while, but not for one good fix`() {
    var choice = ReceiverChoice(count: 2)
    var used: [(second: Int, rank: Int)] = []
    for second in 0..<120 {
      // The preferred receiver is worse from 30 s and better again from 80 s. The other one has a single good moment
      // at 10 s.
      let first = (30..<80).contains(second) ? 6.0 : 2.0
      let other = second == 10 ? 0.5 : 2.0
      if choice.take(0, sigma: first, at: at(Double(second))) { used.append((second, 0)) }
      if choice.take(1, sigma: other, at: at(Double(second) + 0.3)) { used.append((second, 1)) }
    }
    #expect(used.filter { $0.rank == 1 }.map(\.second) == Array(35..<85))
    #expect(used.filter { $0.rank == 0 }.count == 35 + 36)
  }

  @Test func `two receivers that report every ten seconds do not take turns`() {
    var choice = ReceiverChoice(count: 2)
    var used: [Int] = []
    for report in 0..<20 {
      let rank = report % 2
      if choice.take(rank, sigma: 3, at: at(5 * Double(report))) { used.append(rank) }
    }
    #expect(used.dropFirst(4).allSatisfy { $0 == 0 } && used.count > 8, "\(used)")
  }

  @Test func `a silent receiver is replaced by another one, even by one without a fix`() {
    var choice = ReceiverChoice(count: 2)
    func takes(_ rank: Int, _ sigma: Double?, _ time: Double) -> Bool { choice.take(rank, sigma: sigma, at: at(time)) }
    #expect(takes(0, 3, 0) && takes(0, 3, 1))
    #expect(!takes(1, nil, 1.5) && !takes(1, nil, 2.5) && !takes(1, nil, 3.4))
    #expect(takes(1, nil, 3.6))
    // A repeated question about the same report has the same answer.
    #expect(takes(1, nil, 3.6) && choice.taken == 1)
    // The receiver returns with a fix, which the other one lacks.
    #expect(takes(0, 3, 4))
    #expect(takes(0, 3, 4) && choice.taken == 0)
  }

  @Test func `a receiver without a fix is replaced by one with a fix`() {
    var choice = ReceiverChoice(count: 2)
    func takes(_ rank: Int, _ sigma: Double?, _ time: Double) -> Bool { choice.take(rank, sigma: sigma, at: at(time)) }
    // Neither has a fix, so the report of the first one is used.
    #expect(takes(0, nil, 0))
    #expect(!takes(1, nil, 0.1))
    #expect(takes(1, 9, 1))
    #expect(!takes(0, nil, 1.1))
    // The preferred receiver gets an equally good fix. It is used after some time.
    var isFirstSince: Double?
    for second in 2..<20 {
      if choice.take(0, sigma: 9, at: at(Double(second))) { isFirstSince = isFirstSince ?? Double(second) }
      _ = choice.take(1, sigma: 9, at: at(Double(second) + 0.5))
    }
    #expect(isFirstSince == 7)
    // A receiver that reports once after a silence has not been better all the time.
    #expect(!takes(1, 3, 19.5) && takes(0, 9, 20) && !takes(1, 3, 20.5))
    // When the preferred receiver loses its fix in a tunnel, the other one takes over immediately.
    #expect(!takes(1, 9, 21.5))
    #expect(takes(1, 9, 23))
  }
}
