import Testing

@testable import Outputs

/// The lines of a client of `hub.sock`, however they are divided into packets.
struct StateRequestsTests {
  /// Takes the packets one by one. A request is described by its name.
  private func take(_ packets: [String]) -> [[String]] {
    var requests = StateRequests()
    return packets.map { packet in
      Array(packet.utf8).withUnsafeBufferPointer { requests.take($0) }.map { line in
        switch line {
        case .request(let request): request.name ?? ""
        case .refused(let reason): reason
        case .none: "none"
        }
      }
    }
  }

  private let tooLong = "a line may have at most 4096 bytes"

  @Test func `a request may arrive in pieces, and several in one packet`() {
    #expect(
      take([#"{"na"#, #"me": "one"}"# + "\n\n" + #"{"name": "two"}"# + "\n{", "}\n"]) == [[], ["one", "two"], [""]])
  }

  @Test func `a line that never ends is refused once, and the next line is a request again`() {
    let piece = String(repeating: "x", count: 3000)
    let next = #"{"name": "next"}"# + "\n"
    #expect(take([piece, piece, piece, piece, piece + "\n" + next]) == [[], [tooLong], [], [], ["next"]])
    #expect(take([piece + piece + "\n" + next]) == [[tooLong, "next"]])
  }

  @Test func `a line of the greatest length is a request`() {
    let start = #"{"name": ""#
    let text = start + String(repeating: "x", count: StateRequests.maximumLength - start.utf8.count - 2) + #""}"#
    #expect(take([text, "\n"]).map { $0.map(\.isEmpty) } == [[], [false]])
    #expect(take([" " + text + "\n"]) == [[tooLong]])
  }
}
