import Hub
import Testing

@testable import Outputs

/// What viewers ask for, as it comes from a broker: from anybody.
struct InterestTests {
  private let topics = HubTopics(topic: "sensorhub", hub: "boat-7")

  private func read(_ text: String, of stream: Interest.Stream = .state) -> (interest: Interest?, isValid: Bool) {
    Interest.read(Array(text.utf8), of: stream)
  }

  @Test func `rate, parts and time are as they are said, or as usual`() throws {
    #expect(read("{}").interest == Interest(rateHz: 1, parts: .all))
    #expect(read("{}", of: .part(.pressure)).interest == Interest(rateHz: 1, parts: [.pressure]))
    #expect(
      read(#"{"rateHz": 2.5, "parts": ["position", "motion"], "for": 60, "name": "watch"}"#).interest
        == Interest(rateHz: 2.5, parts: [.position, .motion], duration: .seconds(60)))
  }

  @Test(arguments: ["", #"{"rateHz": 0}"#])
  func `it is taken back`(_ text: String) {
    let (interest, isValid) = read(text)
    #expect(interest == nil && isValid)
  }

  @Test(arguments: [
    "on", "null", "[]", "{", "\u{0}", #"{"rateHz": -1}"#, #"{"rateHz": 1e9}"#, #"{"rateHz": "1"}"#,
    #"{"rateHz": 1e-9}"#,
    #"{"parts": []}"#, #"{"parts": ["longitude"]}"#, #"{"parts": "position"}"#, #"{"for": 0}"#, #"{"for": 1e300}"#,
    "{\"name\": \"\(String(repeating: "x", count: 2000))\"}", String(repeating: "[", count: 1000),
  ])
  func `what makes no sense is none`(_ text: String) {
    #expect(!read(text).isValid)
  }

  @Test func `a part's topic names the part`() {
    #expect(!read(#"{"parts": ["position"]}"#, of: .part(.motion)).isValid)
  }

  @Test func `a topic says who asks for what`() {
    let key = Interest.Key(viewer: "phone", stream: .part(.position))
    #expect(topics.interest(of: "sensorhub/boat-7/interest/phone/position") == key)
    #expect(topics.interest(key) == "sensorhub/boat-7/interest/phone/position")
    let ofUser = Interest.Key(viewer: "anna/phone", stream: .part(.position))
    #expect(topics.interest(of: "sensorhub/boat-7/interest/anna/phone/position") == ofUser)
    #expect(topics.interest(ofUser) == "sensorhub/boat-7/interest/anna/phone/position")
    #expect(topics.interest(of: topics.interest(of: "phone")) == Interest.Key(viewer: "phone", stream: .state))
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
  func `others are none`(_ topic: String) { #expect(topics.interest(of: topic) == nil) }
}
