import CLinux
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Positions for OwnTracks programs, through Debian's mosquitto.
@Suite(.timeLimit(.minutes(10))) struct OwnTracksTests {
  private static let topic = "owntracks/ada/boat"
  private let broker = Broker()

  private struct Location: Decodable {
    var _type, tid: String
    var lat: Double
    var tst: Int
    var acc: Int?
  }

  private func hub(_ keys: String) -> HubProcess {
    let ownTracks = "ownTracks: { topic: \"\(OwnTracksTests.topic)\", trackerId: \"SB\"\(keys) }"
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("mqtt: { broker: \"\(broker.address)\", hub: \"boat\", \(ownTracks) }"))
    #expect(hub.logs("joined \(broker.address) as 'boat'"), "\(hub.program.standardError)")
    return hub
  }

  private func locations(_ listener: Program) -> [Location] {
    listener.lines.compactMap { line in
      try? JSONDecoder().decode(Location.self, from: Data(line.drop { $0 != "{" }.utf8))
    }
  }

  /// Returns a time like `2026-11-21T03:07:19.000Z` in seconds since 1970.
  private func seconds(_ time: String?) -> Int? {
    let numbers = (time ?? "").split { !$0.isNumber }.compactMap { Int32($0) }
    guard numbers.count >= 6 else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
    return timegm(&parts)
  }

  @Test func `positions from while the broker was away are sent later, with their own times`() throws {
    let hub = hub(", every: 1")
    // The broker keeps messages for this client, as for OwnTracks Recorder.
    let listener = broker.listen([OwnTracksTests.topic], ["-c", "-i", "recorder", "-x", "3600"])
    #expect(listener.prints { _ in locations(listener).count >= 2 }, "\(hub.program.standardError)")
    #expect(eventually { hub.devicesNow["gps"].holders.contains { $0.hasPrefix("owntracks") } })
    let first = try #require(locations(listener).first)
    #expect(first._type == "location" && first.tid == "SB" && first.acc != nil)
    #expect(abs(first.lat - 52.5) < 0.1)

    broker.stop()
    // The other client records the messages that were published in the meantime.
    let watch = Program(["watch", "--json", "--rate", "5", "--parts", "position", "--socket", hub.socket])
    var (from, to) = (Int.max, Int.min)
    let isLongEnough = watch.prints { _ in
      for state in HubProcess.states(watch) {
        guard let time = seconds(state.time) else { continue }
        (from, to) = (min(from, time), max(to, time))
      }
      return from <= to && to - from >= 5
    }
    #expect(isLongEnough, "\(watch.standardError)")
    watch.send(SIGKILL)
    broker.start()
    let arrives = listener.prints { _ in
      locations(listener).contains { $0.tst > from + 1 && $0.tst < to - 1 }
    }
    #expect(arrives, "\(from)...\(to): \(locations(listener).map(\.tst))")
    let times = locations(listener).map(\.tst)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
    #expect(hub.stop() == 0)
  }

  @Test func `without a schedule no device is woken, and positions that other clients request are sent`() {
    let hub = hub("")
    // The listener gets this message once it has subscribed.
    broker.publish(OwnTracksTests.topic, "seen")
    let listener = broker.listen([OwnTracksTests.topic])
    #expect(listener.prints("seen"))
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    let watch = Program(["watch", "--json", "--rate", "1", "--parts", "position", "--socket", hub.socket])
    #expect(listener.prints { _ in !locations(listener).isEmpty }, "\(watch.standardError)")
    watch.send(SIGKILL)
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["imu"].wakes == 0)
    #expect(hub.stop() == 0)
  }
}
