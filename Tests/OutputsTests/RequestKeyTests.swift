import Hub
import Testing

@testable import Outputs

/// The error for an unknown key of a request suggests the intended key.
struct RequestKeyTests {
  private func line(_ text: String) -> StateRequests.Line? {
    var requests = StateRequests()
    return Array((text + "\n").utf8).withUnsafeBufferPointer { requests.take($0) }.first
  }

  @Test(arguments: [
    (#"{"part": ["attitude"]}"#, "'part' is not a key of this request; did you mean 'parts'?"),
    (#"{"ratehz": 5}"#, "'ratehz' is not a key of this request; did you mean 'rateHz'?"),
    (
      #"{"rateHz": 5, "zzzzzzzzzzzz": 1}"#,
      "'zzzzzzzzzzzz' is not a key of this request; valid ones are rateHz, rate, parts, every, accuracy, within, "
        + "distance, maxAge, batch, error, name, calibrate, device, release, fence, removeFence, fences"
    ), (#"{"every": 0}"#, "'every' must be a number from 1 to 604800 seconds"),
    (#"{"distnce": 50}"#, "'distnce' is not a key of this request; did you mean 'distance'?"),
    (
      #"{"maxAge": 30, "rateHz": 1}"#,
      "'maxAge' without 'every' requests one value, and cannot be combined with 'rateHz'"
    ), (#"{"maxAge": "30"}"#, "'maxAge' must be a number from 0 to 31622400 seconds"),
    (#"{"rateHz": 5, "rate": 6}"#, "'rateHz' and 'rate' are the same: give one of them"),
    (
      #"{"fence": {"name": "anchor"}}"#,
      #"a fence is {"name": "anchor", "radiusMetres": 40}, around the board's position, "#
        + #"or with "latitude" and "longitude""#
    ),
    (
      #"{"fence": {"name": "anchor", "radius": 40}}"#,
      "'radius' is not a key of this request; did you mean 'radiusMetres'?"
    ), (#"{"fences": "all"}"#, "'fences' must be \"list\""), (#"{"release": "mine"}"#, "'release' must be \"all\""),
    (#"{"calibrate": "compass"}"#, "'calibrate' must be gyro, accel, mag, mount"),
  ])
  func `a state request with an unknown key or value is refused`(_ text: String, _ message: String) {
    guard case .refused(let reason) = line(text) else {
      Issue.record("\(text) is taken")
      return
    }
    #expect(reason == message)
  }

  @Test func `a recording request with an unknown key is refused`() {
    let unknown = #expect(throws: RequestKey.Unknown.self) {
      try RecordRequest.read(Array(#"{"name": "logger", "wake": true}"#.utf8))
    }
    #expect(unknown.map { "\($0)" } == "'wake' is not a key of this request; did you mean 'wakes'?")
  }

  @Test func `the rate has two names, and only one of them may be given`() {
    #expect(line(#"{"rate": 5}"#)?.request?.view.rateHz == 5)
    #expect(line(#"{"rateHz": 5}"#)?.request?.view.rateHz == 5)
    #expect(line(#"{"rateHz": 5, "rate": 6}"#)?.request == nil)
    let state = ViewerRequest.Stream.state
    #expect(ViewerRequest.read(Array(#"{"rate": 2}"#.utf8), of: state).interest?.rateHz == 2)
    #expect(ViewerRequest.read(Array(#"{"rate": 2, "rateHz": 2}"#.utf8), of: state).isValid == false)
  }

  @Test(arguments: [
    ViewRequest.Form.states(rateHz: 2, parts: [.attitude]), .fixes(Schedule(every: .seconds(60), accuracyMetres: 10)),
    .current(CurrentValue(maxAge: .seconds(30), within: .seconds(5))), .bounded(metres: 25, within: .seconds(60)),
  ])
  func `the program's own requests use keys that the hub reads`(_ form: ViewRequest.Form) throws {
    var request = ViewRequest()
    switch form {
    case .states(let rateHz, let parts): (request.rateHz, request.parts) = (rateHz, parts)
    case .fixes(let schedule): (request.every, request.accuracyMetres) = (schedule.every, schedule.accuracyMetres)
    case .current(let value): (request.maxAge, request.within) = (value.maxAge, value.within)
    case .bounded(let metres, _): request.errorMetres = metres
    }
    let read = try #require(line("{\(request.members)\"name\": \"watch\"}")?.request)
    #expect(read.view == request && read.view.form == form && read.name == "watch")
  }
}
