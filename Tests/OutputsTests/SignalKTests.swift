import FoundationEssentials
import Fusion
import Hub
import MonotonicTime
import NMEA
import Testing

@testable import Outputs

/// Signal K's messages and subscriptions, tested against its specification.
struct SignalKTests {
  private let now = MonotonicInstant(nanoseconds: 100_000_000_000)

  private func state(after seconds: Double = 0) -> FusedState {
    let now = now + .nanoseconds(Int64(seconds * 1e9))
    var state = FusedState(at: now)
    state.mode = .fused
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: -33.856_8, longitudeDegrees: 151.215_3, altitudeHAEMetres: 60, altitudeMSLMetres: 38,
        horizontalSigmaMetres: 1, verticalSigmaMetres: 2), at: now, source: [.gps, .imu])
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 10, trackDegrees: -90, climbMetresPerSecond: 0), at: now,
      source: [.gps, .imu])
    state.fix = Dated(
      FusedState.FixQuality(
        mode: 3, status: 2, satellitesUsed: 9, hdop: 0.8, utcNanoseconds: 1_700_000_000_250_000_000), at: now,
      source: .gps)
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(roll: 0.1, pitch: -0.05, yaw: -1.5), inclinationSigmaRadians: 0.01,
        headingSigmaRadians: nil), at: now, source: .imu)
    return state
  }

  private func subscription(
    _ path: String, period: Double? = nil, minPeriod: Double? = nil, policy: SignalKRequests.Policy? = nil
  ) -> SignalKRequests.Subscription {
    SignalKRequests.Subscription(path: path, period: period, minPeriod: minPeriod, policy: policy)
  }

  @Test(arguments: [
    ("*", 18), ("navigation.*", 15), ("navigation.position", 1), ("navigation.gnss.*", 6),
    ("navigation.*.satellites", 1), ("navigation", 0), ("*.position", 1), ("environment.outside.*", 1),
    ("propulsion.*", 0), ("", 0), ("navigation.*Tru", 0),
  ])
  func `an asterisk in a path matches any text`(_ pattern: String, _ count: Int) {
    #expect(SignalKPath.allCases.count { $0.matches(pattern) } == count)
  }

  @Test func `a delta has an update for each source, with SI units`() throws {
    struct Delta: Decodable {
      struct Update: Decodable {
        struct Entry: Decodable { var path: String }
        private enum CodingKeys: String, CodingKey {
          case source = "$source"
          case timestamp, values
        }
        var source, timestamp: String
        var values: [Entry]
      }
      var context: String
      var updates: [Update]
    }
    var subscriptions = SignalKSubscriptions()
    let paths = subscriptions.add(subscription("navigation.*"))
    #expect(paths?.count == 15)
    var json = JSONWriter()
    let state = state()
    SignalKDelta.write(subscriptions.take(state), of: state, context: "vessels.x", to: &json)
    let text = String(decoding: json.bytes, as: UTF8.self)
    let delta = try JSONDecoder().decode(Delta.self, from: Data(json.bytes))
    #expect(delta.context == "vessels.x")
    #expect(delta.updates.count == 3, "\(text)")
    #expect(delta.updates.allSatisfy { $0.timestamp == "2023-11-14T22:13:20.250Z" }, "\(text)")
    let sources = delta.updates.map(\.source)
    #expect(sources.allSatisfy { $0.hasPrefix("sensorhub.") } && Set(sources).count == 3, "\(sources)")
    #expect(
      text.contains(
        #"{"path":"navigation.position","value":{"longitude":151.21530000,"latitude":-33.85680000,"altitude":38.00}}"#),
      "\(text)")
    #expect(text.contains(#"{"path":"navigation.courseOverGroundTrue","value":4.71239}"#), "\(text)")
    #expect(text.contains(#"{"path":"navigation.gnss.methodQuality","value":"DGNSS fix"}"#), "\(text)")
    // Without a heading there is no yaw.
    #expect(text.contains(#"{"path":"navigation.attitude","value":{"roll":0.10000,"pitch":-0.05000}}"#), "\(text)")
    #expect(!text.contains("heading"), "\(text)")
  }

  @Test func `a heading from magnetic north is no heading from true north`() {
    var state = state()
    state.attitude?.value.headingSigmaRadians = 0.1
    state.attitude?.value.north = .magnetic
    var subscriptions = SignalKSubscriptions()
    _ = subscriptions.add(subscription("navigation.*"))
    var json = JSONWriter()
    SignalKDelta.write(subscriptions.take(state), of: state, context: "vessels.x", to: &json)
    let text = String(decoding: json.bytes, as: UTF8.self)
    #expect(text.contains("navigation.headingMagnetic") && !text.contains("navigation.headingTrue"), "\(text)")
  }

  @Test func `subscriptions decide which devices are awake, and how often they are read`() {
    var subscriptions = SignalKSubscriptions()
    // The macro cannot call a mutating method.
    func add(
      _ path: String, period: Double? = nil, policy: SignalKRequests.Policy? = nil
    ) -> [SignalKPath]? {
      subscriptions.add(subscription(path, period: period, policy: policy))
    }
    #expect(subscriptions.isEmpty)
    #expect(add("propulsion.*") == [])
    #expect(subscriptions.isEmpty)
    #expect(add("navigation.attitude", period: 100) == [.attitude])
    #expect(subscriptions.parts == [.attitude] && subscriptions.rateHz == 10)
    #expect(add("environment.outside.pressure") == [.pressure])
    #expect(subscriptions.parts == [.attitude, .pressure] && subscriptions.rateHz == 10)
    // The same path replaces the subscription, and needs no new answer.
    #expect(add("navigation.attitude", period: 2000) == [])
    #expect(subscriptions.rateHz == 1)
    #expect(add("navigation.attitude", policy: .instant) == [])
    #expect(subscriptions.rateHz == nil)
    subscriptions.remove("navigation.attitude")
    #expect(subscriptions.parts == [.pressure])
    subscriptions.remove("*")
    #expect(subscriptions.isEmpty)
    for index in 0..<SignalKSubscriptions.limit { #expect(add("a\(index)") == []) }
    #expect(add("navigation.*") == nil)
  }

  @Test func `a value is sent once per period, or at each change`() {
    var subscriptions = SignalKSubscriptions()
    _ = subscriptions.add(subscription("navigation.position", period: 1000))
    _ = subscriptions.add(subscription("navigation.speedOverGround", policy: .instant))
    func paths(after seconds: Double = 0) -> [String] {
      subscriptions.take(state(after: seconds)).map(\.path.rawValue)
    }
    let both = ["navigation.position", "navigation.speedOverGround"]
    #expect(paths() == both)
    // The same measurement counts as no change.
    #expect(paths() == [])
    #expect(paths(after: 0.5) == ["navigation.speedOverGround"])
    // A late state does not delay later ones.
    #expect(paths(after: 1.2) == both)
    #expect(paths(after: 2.0) == both)
    #expect(paths(after: 2.9) == ["navigation.speedOverGround"])
  }

  @Test func `a magnetic heading without a receiver uses the last known position`() throws {
    var state = state()
    state.attitude?.value.headingSigmaRadians = 0.02
    let place = try #require(state.position?.value)
    let heading = SignalKPath.headingMagnetic
    func radians(lastKnown: FusedState.Position? = nil) -> Double? {
      guard case .number(let radians, _)? = heading.value(of: state, lastKnown: lastKnown)?.content else { return nil }
      return radians
    }
    let known = try #require(radians())
    state.position = nil
    #expect(heading.parts == [.heading] && radians() == nil)
    #expect(radians(lastKnown: place) == known)
  }

  @Test func `messages may arrive in any pieces, and invalid ones are answered`() {
    var requests = SignalKRequests()
    func take(_ text: String) -> [SignalKRequests.Line] {
      Array(text.utf8).withUnsafeBufferPointer { requests.take($0) }
    }
    let message =
      #"{"context":"vessels.self","subscribe":[{"path":"navigation.*","policy":"instant","minPeriod":200}]}"#
    #expect(take(String(message.prefix(30))).isEmpty)
    guard case .message(let read)? = take(String(message.dropFirst(30)) + "\r\n").first else {
      Issue.record("no message")
      return
    }
    #expect(read.subscribe == [subscription("navigation.*", minPeriod: 200, policy: .instant)])
    for wrong in [
      "nonsense\n", #"{"subscribe":[{"path":"a","policy":"never"}]}"# + "\n",
      #"{"subscribe":[{"path":"a","format":"full"}]}"# + "\n",
      String(repeating: "x", count: SignalKRequests.maximumLength + 1),
    ] {
      let lines = take(wrong)
      guard case .refused? = lines.first else {
        Issue.record("\(wrong.prefix(40)): \(lines)")
        continue
      }
    }
  }

  @Test func `a vessel without an MMSI has a UUID of version 4`() {
    #expect(SignalKVessel.context(mmsi: "244123456") == "vessels.urn:mrn:imo:mmsi:244123456")
    #expect(
      SignalKVessel.text(of: [UInt8](repeating: 0xFF, count: 16)) == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    #expect(SignalKVessel.context(mmsi: nil) == SignalKVessel.context(mmsi: nil))
  }
}
