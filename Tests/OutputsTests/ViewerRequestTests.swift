import Hub
import Testing

@testable import Outputs

/// Requests that arrive from viewers through a broker, which may come from any client.
struct ViewerRequestTests {
  private let topics = HubTopics(topic: "sensorhub", hub: "boat-7")

  private func read(_ text: String, of stream: ViewerRequest.Stream = .state) -> (
    interest: ViewerRequest?, isValid: Bool
  ) {
    ViewerRequest.read(Array(text.utf8), of: stream)
  }

  @Test func `rate, parts and time are as requested, or have default values`() throws {
    #expect(read("{}").interest == ViewerRequest(ViewRequest(rateHz: 1)))
    let pressure = read("{}", of: .part(.pressure)).interest
    #expect(pressure == ViewerRequest(ViewRequest(rateHz: 1, parts: [.pressure])))
    #expect(
      read(#"{"rateHz": 2.5, "parts": ["position", "motion"], "for": 60, "name": "watch"}"#).interest
        == ViewerRequest(ViewRequest(rateHz: 2.5, parts: [.position, .motion]), duration: .seconds(60)))
  }

  @Test func `a request for a fix at intervals replaces the stream of states`() throws {
    let schedule = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))
    let said = #"{"rateHz": 0, "every": 60, "accuracy": 10, "within": 45, "for": 3600, "name": "watch"}"#
    for stream in [ViewerRequest.Stream.state, .part(.position)] {
      let interest = try #require(read(said, of: stream).interest)
      #expect(interest.request.form == .fixes(schedule) && interest.kind == .fixes && interest.rateHz == 0)
      #expect(interest.duration == .seconds(3600))
    }
    #expect(read(#"{"every": 900}"#).interest?.request.form == .fixes(Schedule(every: .seconds(900))))
    #expect(!read(said, of: .part(.attitude)).isValid)
    let bounded = read(#"{"error": 25}"#).interest
    #expect(bounded?.request.form == .bounded(metres: 25, within: .seconds(60)) && bounded?.kind == .fixes)
  }

  @Test func `a request for one state replaces a stream, and distance and batch leave states out`() throws {
    let one = try #require(read(#"{"rateHz": 0, "maxAge": 30}"#, of: .part(.attitude)).interest)
    #expect(one.request.form == .current(CurrentValue(parts: [.attitude], maxAge: .seconds(30))))
    #expect(one.kind == .oneState && one.rateHz == 0)
    let some = try #require(read(#"{"distance": 50, "batch": 60}"#, of: .part(.position)).interest)
    #expect(some.request.form == .states(rateHz: 1, parts: [.position]) && some.kind == .someStates)
    #expect(some.request.distanceMetres == 50 && some.request.batch == .seconds(60))
  }

  @Test(arguments: ["", #"{"rateHz": 0}"#, #"{"rateHz": 0, "name": "watch"}"#])
  func `an empty request or a rate of zero withdraws a request`(_ text: String) {
    let (interest, isValid) = read(text)
    #expect(interest == nil && isValid)
  }

  @Test(arguments: [
    "on", "null", "[]", "{", "\u{0}", #"{"rateHz": -1}"#, #"{"rateHz": 1e9}"#, #"{"rateHz": "1"}"#,
    #"{"rateHz": 1e-9}"#,
    #"{"parts": []}"#, #"{"parts": ["longitude"]}"#, #"{"parts": "position"}"#, #"{"for": 0}"#, #"{"for": 1e300}"#,
    "{\"name\": \"\(String(repeating: "x", count: 2000))\"}", String(repeating: "[", count: 1000),
    #"{"every": 0}"#, #"{"every": -60}"#, #"{"every": 1e300}"#, #"{"every": 1e999}"#, #"{"every": NaN}"#,
    #"{"every": "60"}"#, #"{"every": null}"#, #"{"every": [60]}"#, #"{"every": 60, "rateHz": 1}"#,
    #"{"every": 60, "rateHz": null}"#, #"{"every": 60, "parts": ["position"]}"#, #"{"every": 60, "for": 0}"#,
    #"{"every": 60, "accuracy": 0}"#, #"{"every": 60, "accuracy": -1}"#, #"{"every": 60, "accuracy": 1e9}"#,
    #"{"every": 60, "accuracy": null}"#, #"{"every": 60, "within": 0.5}"#, #"{"every": 60, "within": 1e5}"#,
    #"{"part": ["attitude"]}"#, #"{"rateHz": 1, "rat": 2}"#, #"{"rateHz": 0, "parst": []}"#,
    #"{"distance": 0}"#, #"{"maxAge": -1}"#, #"{"maxAge": null}"#, #"{"maxAge": 30, "rateHz": 1}"#,
    #"{"error": 0}"#, #"{"error": 25, "every": 60}"#, #"{"batch": 0}"#, #"{"distance": 5, "parts": ["attitude"]}"#,
    #"{"accuracy": 10}"#, #"{"within": 45}"#, #"{"rateHz": 0, "accuracy": 10}"#, #"{"rateHz": null}"#,
  ])
  func `an invalid request is refused`(_ text: String) {
    #expect(!read(text).isValid)
  }

  @Test func `a request on a part's topic cannot ask for other parts`() {
    #expect(!read(#"{"parts": ["position"]}"#, of: .part(.motion)).isValid)
    #expect(!read(#"{"distance": 50}"#, of: .part(.motion)).isValid)
    #expect(!read(#"{"error": 25}"#, of: .part(.attitude)).isValid)
  }

  @Test func `a topic contains the viewer and the stream that it requests`() {
    let key = ViewerRequest.Key(viewer: "phone", stream: .part(.position))
    #expect(topics.interest(of: "sensorhub/boat-7/interest/phone/position") == key)
    #expect(topics.interest(key) == "sensorhub/boat-7/interest/phone/position")
    let ofUser = ViewerRequest.Key(viewer: "anna/phone", stream: .part(.position))
    #expect(topics.interest(of: "sensorhub/boat-7/interest/anna/phone/position") == ofUser)
    #expect(topics.interest(ofUser) == "sensorhub/boat-7/interest/anna/phone/position")
    #expect(topics.interest(of: topics.interest(of: "phone")) == ViewerRequest.Key(viewer: "phone", stream: .state))
    #expect(topics.state(.state) == topics.states && topics.state(.part(.rates)) == "sensorhub/boat-7/state/rates")
  }

  @Test(arguments: [
    "sensorhub/boat-7/state", "sensorhub/boat-8/interest/phone/state", "sensorhub/boat-7/interest/phone",
    "sensorhub/boat-7/interest/phone/longitude", "sensorhub/boat-7/interest//state",
    "sensorhub/boat-7/interest/phone/state/more",
    "sensorhub/boat-7/interest/anna/phone/more/state", "sensorhub/boat-7/interest//phone/state",
    "sensorhub/boat-7/interest/a\u{1b}[2J/state",
    "sensorhub/boat-7/interest/a b/state", "sensorhub/boat-7/interest/\u{202e}x/state",
    "sensorhub/boat-7/interest/\(String(repeating: "x", count: 65))/state",
  ])
  func `other topics are not requests`(_ topic: String) { #expect(topics.interest(of: topic) == nil) }
}
