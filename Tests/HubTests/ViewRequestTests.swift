import MonotonicTime
import Testing

@testable import Hub

/// The requests that a subscriber may make, and their combinations.
struct ViewRequestTests {
  private static func request(_ numbers: [ViewRequest.Key: Double], parts: [String]? = nil) throws -> ViewRequest {
    var values = ViewRequest.Values()
    (values.numbers, values.parts) = (numbers, parts)
    return try ViewRequest(values)
  }

  @Test func `each key of a request determines what is delivered`() throws {
    #expect(try Self.request([:]).form == .states(rateHz: nil, parts: .all))
    let slow = try Self.request([.rateHz: 0.5, .distance: 50], parts: ["position", "motion"])
    #expect(slow.form == .states(rateHz: 0.5, parts: [.position, .motion]))
    #expect(slow.distanceMetres == 50)
    var schedule = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))
    #expect(try Self.request([.every: 60, .accuracy: 10, .within: 45]).form == .fixes(schedule))
    schedule.maxAge = .seconds(90)
    #expect(try Self.request([.every: 60, .accuracy: 10, .within: 45, .maxAge: 90]).form == .fixes(schedule))
    let current = CurrentValue(parts: [.position], maxAge: .seconds(30), accuracyMetres: 20)
    #expect(try Self.request([.maxAge: 30, .accuracy: 20], parts: ["position"]).form == .current(current))
    #expect(try Self.request([.error: 25]).form == .bounded(metres: 25, within: .seconds(60)))
  }

  struct Wrong: Sendable {
    var numbers: [ViewRequest.Key: Double]
    var parts: [String]?
    var message: String

    init(_ numbers: [ViewRequest.Key: Double], parts: [String]? = nil, _ message: String) {
      (self.numbers, self.parts, self.message) = (numbers, parts, message)
    }
  }

  private static let wrong: [Wrong] = [
    Wrong([.every: 0.5], "'every' must be a number from 1 to 604800 seconds"),
    Wrong([.rateHz: 0], "'rateHz' must be a number from 0.01 to 1000 states a second"),
    Wrong([.distance: -1], "'distance' must be a number from 0.1 to 100000 metres"),
    Wrong([.maxAge: -1], "'maxAge' must be a number from 0 to 31622400 seconds"),
    Wrong([.batch: 1e9], "'batch' must be a number from 0.1 to 86400 seconds"),
    Wrong([.error: .nan], "'error' must be a number from 0.5 to 100000 metres"),
    Wrong([.every: 60, .rateHz: 1], "'every' requests fixes, and cannot be combined with 'rateHz'"),
    Wrong([.every: 60], parts: ["position"], "'every' requests fixes, and cannot be combined with 'parts'"),
    Wrong([.every: 60, .error: 25], "'every' requests fixes, and cannot be combined with 'error'"),
    Wrong(
      [.error: 25, .accuracy: 10], "'error' requests fixes as necessary, and cannot be combined with 'accuracy'"),
    Wrong(
      [.maxAge: 30, .rateHz: 1], "'maxAge' without 'every' requests one value, and cannot be combined with 'rateHz'"),
    Wrong(
      [.maxAge: 30, .batch: 10], "'maxAge' without 'every' requests one value, and cannot be combined with 'batch'"),
    Wrong([.accuracy: 10], "'accuracy' needs 'every' or 'maxAge'"),
    Wrong([.within: 10], "'within' needs 'every' or 'maxAge' or 'error'"),
    Wrong([.distance: 10], parts: ["attitude"], "'distance' needs the part 'position'"),
  ]

  @Test(arguments: wrong)
  func `an impossible request is refused with the reason`(_ wrong: Wrong) {
    let mistake = #expect(throws: ViewRequest.Mistake.self) {
      try Self.request(wrong.numbers, parts: wrong.parts)
    }
    #expect(mistake.map { "\($0)" } == wrong.message)
  }

  @Test func `an unknown part is reported with the nearest known one`() {
    let mistake = #expect(throws: ViewRequest.Mistake.self) { try Self.request([:], parts: ["position", "attitde"]) }
    #expect(mistake?.key == .parts && mistake?.reason.hasSuffix("did you mean 'attitude'?") == true)
  }

  @Test func `a later line of a client keeps rate and parts unless it names them, and replaces any other request`()
    throws
  {
    var request = try Self.request([.rateHz: 5], parts: ["attitude"])
    request.change(to: ViewRequest())
    request.change(to: try Self.request([.rateHz: 2]))
    #expect(request.form == .states(rateHz: 2, parts: [.attitude]))
    request.change(to: try Self.request([.every: 60]))
    #expect(request.form == .fixes(Schedule(every: .seconds(60))))
    request.change(to: try Self.request([.distance: 50]))
    #expect(request.form == .states(rateHz: 2, parts: [.attitude, .position]))
    #expect(request.distanceMetres == 50)
    request.change(to: try Self.request([.rateHz: 1]))
    #expect(request.distanceMetres == 50)
    // Without the position, no distance can be measured, so the key is dropped.
    request.change(to: try Self.request([:], parts: ["attitude"]))
    #expect(request.form == .states(rateHz: 1, parts: [.attitude]))
    #expect(request.distanceMetres == nil)
    request.change(to: try Self.request([.maxAge: 30]))
    #expect(request.form == .current(CurrentValue(maxAge: .seconds(30))))
  }
}
