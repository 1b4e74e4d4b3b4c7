import Hub
import Testing

@testable import Outputs

/// The permitted requests of a client of `record.sock`.
struct RecordRequestTests {
  private func read(_ line: String) -> RecordRequest? { try? RecordRequest.read(Array(line.utf8)) }

  @Test func `an empty request records everything, and syncs each second`() {
    let request = read("{}")
    #expect(request?.demand == .everything && request?.syncInterval == .seconds(1) && request?.name == nil)
  }

  @Test func `the keys of a request select name, parts and sync interval`() {
    let request = read(#"{"name": "logger", "wakes": true, "syncSeconds": 0.5, "parts": ["attitude", "rates"]}"#)
    #expect(request?.name == "logger" && request?.syncInterval == .milliseconds(500))
    #expect(request?.demand == .parts([.attitude, .rates]))
    #expect(read(#"{"wakes": false}"#)?.demand == .nothing)
    // With `wakes: false`, the named parts wake nothing either.
    #expect(read(#"{"wakes": false, "parts": ["attitude"]}"#)?.demand == .nothing)
  }

  @Test(
    arguments: [
      "", "record", "[]", #"{"wakes": 1}"#, #"{"syncSeconds": 0}"#, #"{"syncSeconds": 1e9}"#, #"{"parts": []}"#,
      #"{"parts": ["attitude", "nonsense"]}"#,
    ])
  func `an invalid request is refused`(_ line: String) { #expect(read(line) == nil) }
}
