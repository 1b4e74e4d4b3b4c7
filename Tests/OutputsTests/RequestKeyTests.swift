import Hub
import Testing

@testable import Outputs

/// A key that a request cannot have is named, with the one that it was meant for.
struct RequestKeyTests {
  private func line(_ text: String) -> StateRequests.Line? {
    var requests = StateRequests()
    return Array((text + "\n").utf8).withUnsafeBufferPointer { requests.take($0) }.first
  }

  @Test(arguments: [
    (#"{"part": ["attitude"]}"#, "'part' is nothing to ask here; did you mean 'parts'?"),
    (#"{"ratehz": 5}"#, "'ratehz' is nothing to ask here; did you mean 'rateHz'?"),
    (
      #"{"rateHz": 5, "zzzzzzzzzzzz": 1}"#,
      "'zzzzzzzzzzzz' is nothing to ask here; there are rateHz, rate, name, parts, "
        + "every, accuracy, within, calibrate, device, release"
    ),
  ])
  func `an unknown key of a state request is refused`(_ text: String, _ message: String) {
    guard case .unknownKey(let unknown) = line(text) else {
      Issue.record("\(text) is taken")
      return
    }
    #expect("\(unknown)" == message)
  }

  @Test func `an unknown key of a request for a recording is refused`() {
    let unknown = #expect(throws: RequestKey.Unknown.self) {
      try RecordRequest.read(Array(#"{"name": "logger", "wake": true}"#.utf8))
    }
    #expect(unknown.map { "\($0)" } == "'wake' is nothing to ask here; did you mean 'wakes'?")
  }

  @Test func `the rate goes by both its names, and by one at a time`() {
    #expect(line(#"{"rate": 5}"#)?.request?.rateHz == 5)
    #expect(line(#"{"rateHz": 5}"#)?.request?.rateHz == 5)
    #expect(line(#"{"rateHz": 5, "rate": 6}"#)?.request == nil)
    let state = Interest.Stream.state
    #expect(Interest.read(Array(#"{"rate": 2}"#.utf8), of: state).interest?.rateHz == 2)
    #expect(Interest.read(Array(#"{"rate": 2, "rateHz": 2}"#.utf8), of: state).isValid == false)
  }
}
