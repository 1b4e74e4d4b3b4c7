import Guarding
import MonotonicTime
import TestSupport
import Testing

@testable import Publishing

/// The holders of a source, including those of derived publishers.
@Suite(.timeLimit(.minutes(10)))
struct HolderTests {
  /// Records the holders that come and leave, and the number of changes.
  private final class Notes: HolderObserver {
    let present = Guarded(HolderSet())
    let changes = Recorder<[String]>()

    func came(_ holders: [Holder]) {
      let areNew = present.withLock { present in holders.map { present.insert($0) } }
      #expect(areNew.allSatisfy { $0 })
      changes.append(holders.map { "+\($0.label)" })
    }

    func left(_ holders: [Holder]) {
      let wereThere = present.withLock { present in holders.map { present.remove($0) } }
      #expect(wereThere.allSatisfy { $0 })
      changes.append(holders.map { "-\($0.label)" })
    }

    var labels: [String] { present.withLock { $0.list.map(\.label) } }
  }

  private let notes = Notes()

  private func source(_ timing: LifecycleTiming = LifecycleTiming()) -> LazyPublisher<Int, Fault> {
    LazyPublisher(deriving: "source", timing: timing, holderObserver: notes) { (_) throws(Fault) in Subscription {} }
  }

  @Test func `a source knows its indirect holders through any chain of operators, as they come and leave`() {
    let source = source()
    let clock = ManualClock()
    let hints = Trigger<Int>()
    let values = source.retrying(
      Backoff(initial: .seconds(1), maximum: .seconds(1)), hint: hints.signal(for: 1), clock: clock
    ).map { $0 + 1 }.throttled(to: .seconds(1), clock: clock).shared(as: "shared", clock: clock)
    let signal = Trigger<Int>()
    let again = values.merge(with: values.debounced(for: .seconds(1), clock: clock)).publishAndRepeat(
      onOutputFrom: signal.signal(for: 1))
    let held = Empty<Int, Never>(completesImmediately: false).withLease(
      on:
        values, as: { $0.labelled("\($0.label) (value)") })
    var leases = [again.subscribe(as: "first", receiveValue: { _ in })]
    #expect(source.holders.map(\.label) == ["first"])
    leases.append(held.subscribe(as: "second", receiveValue: { _ in }))
    leases.append(again.subscribe(as: "third", receiveValue: { _ in }))
    #expect(source.holders == ["first", Holder("second").labelled("second (value)"), "third"])
    // Each signal starts a new run, but the holders stay.
    signal.activate(1)
    #expect(source.holders.count == 3)
    leases[0].cancel()
    #expect(source.holders.map(\.label) == ["second (value)", "third"] && values.isHeld)
    leases[2].cancel()
    leases[1].cancel()
    #expect(source.holders.isEmpty && !values.isHeld && notes.labels.isEmpty)
    #expect(source.activity.value.reason == "second (value) left")
  }

  @Test func `a group of holders is added to a source at once, and a holder that leaves is noticed`() {
    let source = source()
    let group = HolderGroup("group")
    let members = group.add((0..<100).map { Holders("\($0)") })
    let known = notes.changes.values.count
    let further = source.subscribe(as: Holders(group), receiveValue: { _ in })
    #expect(source.holders.count == 100 && notes.changes.values.count == known + 1)
    group.remove(members)
    #expect(source.holders.isEmpty && notes.changes.values.count == known + 2)
    #expect(source.isHeld == false && source.activity.value.phase == .running)
    further.cancel()
    #expect(source.activity.value.reason == "99 left")
  }

  @Test func `holders with the same label are distinct if their identities are`() {
    let source = source()
    let visits = (0..<2).map { _ in Holder("web 127.0.0.1:1", id: HolderID(), payer: "web 127.0.0.1") }
    let leases = visits.map { source.subscribe(as: $0, receiveValue: { _ in }) }
    // Two similar connections are two holders. A part of the program is one holder, however many subscriptions it has.
    #expect(source.holders.count == 2)
    let parts = (0..<2).map { _ in source.subscribe(as: "journal", receiveValue: { _ in }) }
    #expect(source.holders.count == 3)
    parts[0].cancel()
    #expect(source.holders.map(\.label) == ["web 127.0.0.1:1", "web 127.0.0.1:1", "journal"])
    leases[0].cancel()
    #expect(source.holders == [visits[1], "journal"])
    leases[1].cancel()
    parts[1].cancel()
  }

  /// Many holders on several threads subscribe to publishers derived from each other, whose sources start and stop
  /// with them.
  @Test func `whatever threads subscribe and cancel, the source knows its holders in the end`() async {
    let source = source()
    let middle = source.shared(as: "middle")
    let ends = [middle.map { $0 }, middle.map { $0 * 2 }].map { $0.shared(as: "end") }
    let done = Recorder<Int>()
    let stayed = Guarded<[Subscription]>([])
    for thread in 0..<8 {
      let error = DetachedThread.start("crowd") {
        var held: [Subscription] = []
        for visit in 0..<400 {
          let end = ends[visit % 2]
          held.append(end.subscribe(as: Holder("\(thread) \(visit % 5)"), receiveValue: { _ in }))
          if visit % 3 == 0 { held.append(middle.subscribe(as: Holder("\(thread)"), receiveValue: { _ in })) }
          while held.count > visit % 7 { held.removeFirst().cancel() }
        }
        held = []
        stayed.withLock { $0.append(ends[thread % 2].subscribe(as: Holder("\(thread)"), receiveValue: { _ in })) }
        done.append(thread)
      }
      #expect(error == 0)
    }
    await done.first(8)
    let expected = Set((0..<8).map { "\($0)" })
    for holders in [source.holders, middle.holders] { #expect(Set(holders.map(\.label)) == expected) }
    #expect(Set(notes.labels) == expected)
    for lease in stayed.withLock({ $0 }) { lease.cancel() }
    #expect(source.holders.isEmpty && middle.holders.isEmpty && notes.labels.isEmpty)
  }
}
