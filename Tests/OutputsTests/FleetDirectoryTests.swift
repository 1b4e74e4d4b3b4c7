import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// The hubs at a broker that is sometimes absent.
struct FleetDirectoryTests {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  private let clock = ManualClock()
  private let directory: FleetDirectory

  init() throws {
    let broker = try #require(BrokerAddress("mqtt://127.0.0.1:1"))
    directory = FleetDirectory(
      MQTTOptions(broker: broker, identifier: "test"), topic: "sensorhub", hub: nil, sink: JournalSink(to: Nowhere()),
      clock: clock)
  }

  private func hear(_ hub: String, _ status: String) {
    directory.take(
      .received(
        topic: "sensorhub/\(hub)/status", payload: Array(status.utf8), isRetained: true, expirySeconds: nil))
  }

  private func isKnown(_ hub: String) -> Bool {
    var json = JSONWriter()
    directory.write(since: nil, to: &json)
    let isGone = String(decoding: json.bytes, as: UTF8.self).contains(#"{"hub":"\#(hub)","status":"gone"}"#)
    #expect(directory.knows(hub) != isGone)
    return !isGone
  }

  @Test func `a hub removed while the broker was away disappears, and one that is announced again stays`() {
    directory.take(.connected)
    for hub in ["boat", "ship"] { hear(hub, "online") }
    directory.take(.disconnected(BrokerLoss(reason: "gone", nextStep: nil)))
    clock.run(until: clock.now + .seconds(3600))
    #expect(isKnown("boat") && isKnown("ship"))
    directory.take(.connected)
    hear("boat", "online")
    clock.run(until: clock.now + (FleetDirectory.patience - .seconds(1)))
    #expect(isKnown("boat") && isKnown("ship"))
    clock.run(until: clock.now + .seconds(1))
    #expect(isKnown("boat") && !isKnown("ship"))
    hear("ship", "offline")
    #expect(isKnown("ship"))
  }
}
