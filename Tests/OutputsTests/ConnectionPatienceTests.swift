import NIOCore
import Testing

@testable import Outputs

/// How long a connection of the web port may make no progress, with the test's clock.
struct ConnectionPatienceTests {
  private static let limits = ConnectionPatience.Limits(
    silence: .seconds(30), answer: .seconds(20), stream: .seconds(180))

  private func second(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(UInt64(1000 + seconds) * 1_000_000_000) }

  private func outgoing(_ taken: Int, _ waiting: Int, isStream: Bool = false) -> ConnectionPatience.Outgoing {
    .init(takenCount: taken, waitingCount: waiting, isStream: isStream)
  }

  @Test func `a client that sends no complete request in time counts as silent`() {
    var patience = ConnectionPatience(Self.limits, at: second(0))
    #expect(patience.verdict(on: outgoing(0, 0), at: second(0)) == .goesOn(until: second(30)))
    #expect(patience.verdict(on: outgoing(0, 0), at: second(29)) == .goesOn(until: second(30)))
    patience.heard(isHead: true, isEnd: false, at: second(29))
    #expect(patience.verdict(on: outgoing(0, 0), at: second(30)) == .goesOn(until: second(59)))
    patience.heard(isHead: false, isEnd: false, at: second(40))
    #expect(patience.verdict(on: outgoing(0, 0), at: second(59)) == .goesOn(until: second(70)))
    #expect(patience.verdict(on: outgoing(0, 0), at: second(70)) == .isSilent)
  }

  @Test func `an answer may take any time to be made, and to be received slowly`() {
    var patience = ConnectionPatience(Self.limits, at: second(0))
    patience.heard(isHead: true, isEnd: false, at: second(0))
    patience.heard(isHead: false, isEnd: true, at: second(0))
    #expect(patience.verdict(on: outgoing(0, 0), at: second(300)) == .goesOn(until: nil))
    // Everything is written at once, and the client accepts a little every nineteen seconds.
    patience.answered()
    var taken = 0
    for round in 0..<100 {
      let now = 300 + 19 * Int64(round)
      let verdict = patience.verdict(on: outgoing(taken, 1_000_000 - taken), at: second(now))
      #expect(verdict == .goesOn(until: second(now + 5)))
      taken += 100
    }
    // The silence begins once everything has been sent.
    let end: Int64 = 300 + 19 * 100
    #expect(patience.verdict(on: outgoing(1_000_000, 0), at: second(end)) == .goesOn(until: second(end + 30)))
    #expect(patience.verdict(on: outgoing(1_000_000, 0), at: second(end + 30)) == .isSilent)
  }

  @Test func `a client that stops receiving its answer counts as stalled, whatever else it requests`() {
    var patience = ConnectionPatience(Self.limits, at: second(0))
    patience.heard(isHead: true, isEnd: true, at: second(0))
    #expect(patience.verdict(on: outgoing(1000, 500), at: second(100)) == .goesOn(until: second(105)))
    patience.heard(isHead: true, isEnd: true, at: second(104))
    #expect(patience.verdict(on: outgoing(1000, 900), at: second(105)) == .goesOn(until: second(110)))
    #expect(patience.verdict(on: outgoing(1000, 900), at: second(119)) == .goesOn(until: second(120)))
    #expect(patience.verdict(on: outgoing(1000, 900), at: second(120)) == .isStalled)
    // Earlier waiting bytes are forgotten once all have been taken.
    #expect(patience.verdict(on: outgoing(1900, 0), at: second(121)) == .goesOn(until: nil))
    #expect(patience.verdict(on: outgoing(1900, 1), at: second(200)) == .goesOn(until: second(205)))
  }

  @Test func `an event stream has more time than other answers`() {
    var patience = ConnectionPatience(Self.limits, at: second(0))
    patience.heard(isHead: true, isEnd: true, at: second(0))
    #expect(patience.verdict(on: outgoing(1, 1, isStream: true), at: second(0)) == .goesOn(until: second(45)))
    #expect(patience.verdict(on: outgoing(1, 1, isStream: true), at: second(179)) == .goesOn(until: second(180)))
    #expect(patience.verdict(on: outgoing(1, 1, isStream: true), at: second(180)) == .isStalled)
  }
}
