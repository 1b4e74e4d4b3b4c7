import Fusion
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Which requests wake a receiver, with a clock that the test moves.
@Suite(.timeLimit(.minutes(10)))
struct RequestedFixesTests {
  private typealias Bench = ScheduleBench

  private static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))

  @Test func `a fix that is due a little later is delivered early, which saves a start`() async throws {
    let bench = try Bench(lingerSeconds: 0, from: MonotonicInstant(nanoseconds: 2_000_000_000_000))
    // The durations of starts are learned first. With the assumed duration, both fixes would share a wake in any case.
    let learning = bench.subscribe("learner[1]", Self.minute, Recorder<Bench.Got>())
    bench.pass(700)
    learning.cancel()
    bench.settle()
    bench.pass(60)
    let (one, other) = (Recorder<Bench.Got>(), Recorder<Bench.Got>())
    // The fixes are due at 3000 s and 3020 s.
    let first = bench.subscribe(
      "log[7]", Schedule(every: .seconds(600), accuracyMetres: 10, within: .seconds(45)), one)
    let second = bench.subscribe(
      "phone[8]", Schedule(every: .seconds(755), accuracyMetres: 10, within: .seconds(45)), other)
    bench.pass(60)
    #expect(one.values.count == 1 && other.values.count == 1 && !bench.isHigh)
    let rises = bench.rises
    bench.pass(280)
    #expect(bench.rises == rises + 1 && !bench.isHigh)
    let fixes = [one, other].compactMap(\.values.last)
    #expect(fixes.count == 2 && fixes.allSatisfy { $0.fix.isMet })
    #expect(one.values.count == 2 && other.values.count == 2)
    let seconds = fixes.map { ($0.fix.due - $0.at).inSeconds }
    #expect(abs(seconds[0]) <= 1 && (10...30).contains(seconds[1]), "\(seconds) s before they were due")
    #expect((fixes[1].at - (fixes[1].fix.state.position?.at ?? .zero)).inSeconds <= 2)
    second.cancel()
    first.cancel()
    await bench.end()
  }

  @Test func `a fix that keeps the error within a bound is delivered while it is new`() async throws {
    let bench = try Bench(lingerSeconds: 0)
    let got = Recorder<Bench.Got>()
    let lease = bench.hub.fixes(errorMetres: 2000, within: .seconds(45)).subscribe(
      as: .client("track[7]"), receiveValue: { [clock = bench.clock] in got.append(Bench.Got(fix: $0, at: clock.now)) })
    bench.settle()
    // Few starts are known at first, so the receiver is woken much earlier than its starts take.
    bench.pass(1500)
    #expect(got.values.count >= 3 && got.values.allSatisfy { $0.fix.isMet && !$0.fix.isReckoned }, "\(got.values)")
    let ages = got.values.map { $0.at.seconds(since: $0.fix.state.position?.at ?? .zero) }
    #expect(ages.allSatisfy { $0 <= 1 }, "\(ages) s")
    lease.cancel()
    await bench.end()
  }

  @Test func `a fix that may have some age is the last known one, and wakes nothing while there is one`()
    async throws
  {
    let bench = try Bench(lingerSeconds: 0)
    let (log, phone) = (Recorder<Bench.Got>(), Recorder<Bench.Got>())
    let logging = bench.subscribe("log[7]", Self.minute, log)
    bench.pass(300)
    var schedule = Schedule(every: .seconds(90), accuracyMetres: 20, within: .seconds(45))
    schedule.maxAge = .seconds(120)
    let (rises, count) = (bench.rises, log.values.count)
    let viewing = bench.subscribe("phone[8]", schedule, phone)
    #expect(phone.values.count == 1 && bench.rises == rises)
    bench.pass(900)
    // Each rise of the line belongs to a fix of the log, and one may be in progress.
    #expect(bench.rises - rises <= log.values.count - count + 1)
    // Every second fix is due together with one of the log's, and is a new one.
    #expect(phone.values.count >= 10 && phone.values.allSatisfy(\.fix.isMet))
    #expect(phone.values.count(where: \.fix.isKnown) >= 5)
    for one in phone.values {
      let at = try #require(one.fix.state.position?.at)
      #expect((one.at - at).inSeconds <= 120)
    }
    // Without the log the last fix becomes too old.
    logging.cancel()
    bench.settle()
    bench.pass(60)
    let before = (bench.rises, phone.values.count)
    bench.pass(300)
    #expect(bench.rises > before.0 && phone.values.dropFirst(before.1).contains { !$0.fix.isKnown && $0.fix.isMet })
    viewing.cancel()
    await bench.end()
  }

  @Test func `a request for one value wakes the receiver only if the last value is not good enough`()
    async throws
  {
    let bench = try Bench(lingerSeconds: 0)
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(604_800), accuracyMetres: 10), Recorder<Bench.Got>())
    bench.pass(100)
    #expect(bench.rises == 1 && !bench.isHigh)
    let got = Recorder<FusedState>()
    func ask(_ request: CurrentValue) -> Subscription {
      let asking = bench.hub.current(request).subscribe(as: "phone", receiveValue: { got.append($0) })
      bench.settle()
      return asking
    }
    let request = CurrentValue(maxAge: .seconds(300), accuracyMetres: 20)
    _ = ask(request)
    #expect(got.values.count == 1 && bench.rises == 1)
    #expect(got.values.first?.mode == .asleep && got.values.first?.position != nil && got.values.first?.fix != nil)
    // The request is for a better accuracy than that of the known position.
    let good = ask(CurrentValue(maxAge: .seconds(300), accuracyMetres: 0.1, within: .seconds(30)))
    bench.pass(20)
    #expect(bench.isHigh && got.values.count == 1)
    bench.pass(20)
    #expect(!bench.isHigh && got.values.count == 2 && bench.rises == 2)
    good.cancel()
    bench.pass(400)
    let late = ask(request)
    bench.pass(20)
    #expect(got.values.count == 3 && bench.rises == 3 && !bench.isHigh)
    let fresh = try #require(got.values.last)
    #expect((fresh.at - (fresh.position?.at ?? .zero)).inSeconds <= 2)
    late.cancel()
    lease.cancel()
    await bench.end()
  }

  @Test func `a request with a distance gets only fixes that have moved that far`() async throws {
    let bench = try Bench(lingerSeconds: 0)
    let began = bench.clock.now
    // The board moves 30 m a minute.
    bench.metres = { SIMD2($0.seconds(since: began) / 2, 0) }
    let (all, some) = (Recorder<Bench.Got>(), Recorder<RequestedFix>())
    let lease = bench.subscribe("log[7]", Self.minute, all)
    var values = ViewRequest.Values()
    values.numbers = [.every: 60, .accuracy: 10, .within: 45, .distance: 50]
    let request = try ViewRequest(values)
    let moved = request.filtered(bench.hub.fixes(on: Self.minute), clock: bench.clock).subscribe(
      as: "phone", receiveValue: { some.append($0) })
    bench.settle()
    bench.pass(620)
    // The distance between two fixes is 60 m.
    #expect((4...6).contains(some.values.count) && all.values.count >= 10, "\(some.values.count)")
    moved.cancel()
    lease.cancel()
    await bench.end()
  }
}

extension MonotonicInstant {
  fileprivate static var zero: MonotonicInstant { MonotonicInstant(nanoseconds: 0) }
}
