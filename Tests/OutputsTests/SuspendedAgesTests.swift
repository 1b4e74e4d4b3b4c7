import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// Ages and durations in the outputs include the time for which the machine was suspended.
@Suite(.timeLimit(.minutes(10)))
struct SuspendedAgesTests {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  private let clock = ManualClock()

  @Test func `the age of a receiver's last correction includes a suspend`() throws {
    let message = MadeMessage.correction(1005)
    let caster = ScriptedCaster { visit in
      visit.send("HTTP/1.1 200 OK\r\nContent-Type: gnss/data\r\n\r\n")
      visit.send(message)
      _ = visit.waitsForEnd()
    }
    let corrections = ReceiverCorrections()
    let client = CorrectionClient(
      "gps", CasterSettings(host: "127.0.0.1", port: caster.port, mountPoint: "BASE"), corrections,
      sink: JournalSink(to: Nowhere()), version: "test", clock: clock)
    client.want(true)
    #expect(corrections.changes.waits { $0?.messageCount == 1 }, "\(corrections.status as Any)")
    #expect(corrections.status?.lastAt == clock.now)
    clock.suspend(for: .seconds(3600))
    let lastAt = try #require(corrections.status?.lastAt)
    #expect(clock.now - lastAt == .seconds(3600))
    client.want(false)
    #expect(corrections.changes.waits { $0?.phase == .off })
    // A client that has been replaced says nothing more.
    client.end()
    corrections.note(nil)
    clock.suspend(for: .seconds(3600))
    #expect(corrections.status == nil)
  }

  @Test func `the duration of a board file's problem includes a suspend`() throws {
    let feed = ConditionFeed(clock: clock)
    feed.boardWasRead((summary: "unknown key", nextStep: nil))
    clock.advance(by: .seconds(10))
    clock.suspend(for: .seconds(3600))
    let since = try #require(feed.ofBoard.first?.since)
    #expect(clock.now - since == .seconds(3610))
    #expect(feed.changes.value.map(\.condition) == feed.ofBoard)
  }

  @Test func `after a suspend, a page of hubs shows no state from before it`() throws {
    let broker = try #require(BrokerAddress("mqtt://127.0.0.1:1"))
    let views = FleetViews(
      MQTTOptions(broker: broker, identifier: "test"), topic: "sensorhub", user: nil, clock: clock)
    let news = views.news(of: "boat")
    let reasons = Recorder<String>()
    let viewer = news.subscribe(
      as: "page", receiveValue: { if case .error(let reason) = $0 { reasons.append(reason) } })
    clock.suspend(for: .seconds(3600))
    #expect(reasons.waits { $0.contains("no state since this computer was suspended") }, "\(reasons.values)")
    viewer.cancel()
  }
}
