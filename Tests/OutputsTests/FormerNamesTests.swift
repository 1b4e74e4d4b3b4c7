import MonotonicTime
import Testing

@testable import Outputs

/// A hub has been renamed, and the broker may still have its messages under the earlier name.
@Suite struct FormerNamesTests {
  /// A message with the status of the earlier name.
  private struct Message {
    var status: String
    var isRetained = false
    var seconds: Int64 = 0
  }

  private func decisions(about messages: [Message]) -> [FormerNames.Decision] {
    var names = FormerNames()
    return messages.map { message in
      let now = MonotonicInstant(nanoseconds: 1_000_000_000) + .seconds(message.seconds)
      return names.take(
        Array(message.status.utf8), isRetained: message.isRetained, of: "boat", at: now, absence: .seconds(60))
    }
  }

  @Test func `the messages of a hub that is offline are cleared, and then its name is forgotten`() {
    let messages = [Message(status: "offline", isRetained: true), Message(status: ""), Message(status: "online")]
    #expect(decisions(about: messages) == [.clear, .forget, .wait])
  }

  @Test func `the messages of a hub whose end the broker notices late are cleared then`() {
    let messages = [Message(status: "online", isRetained: true), Message(status: "offline", seconds: 30)]
    #expect(decisions(about: messages) == [.wait, .clear])
  }

  @Test func `a hub that is online for longer than the broker needs to notice an end is another hub`() {
    let messages = [
      Message(status: "online", isRetained: true), Message(status: "offline", seconds: 61),
      Message(status: "offline", seconds: 62),
    ]
    #expect(decisions(about: messages) == [.wait, .forget, .wait])
  }

  @Test func `a hub that appears now is another hub`() {
    #expect(decisions(about: [Message(status: "online"), Message(status: "offline")]) == [.forget, .wait])
  }
}
