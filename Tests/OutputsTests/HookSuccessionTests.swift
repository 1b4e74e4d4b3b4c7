import Hub
import Testing

@testable import Outputs

/// Hooks of a board file that has been edited.
struct HookSuccessionTests {
  private func hooks(_ text: String) throws -> [HookSettings] {
    try Board(json5: Array("{ name: 'x', devices: {}, on: { \(text) } }".utf8), file: "board").hooks
  }

  private func places(_ old: String, _ new: String) throws -> [Int?] {
    try HookSuccession.predecessors(of: hooks(new), among: hooks(old))
  }

  private let ntfy = "{ url: 'https://ntfy.sh/a' }"
  private let gotify = "{ url: 'https://b.example' }"
  private let siren = "{ run: ['/bin/s'] }"

  @Test func `a hook keeps its events if the section becomes a list, or its place in the list changes`() throws {
    #expect(try places("fence: \(ntfy)", "fence: [\(ntfy), \(siren)]") == [0, nil])
    #expect(try places("fence: [\(ntfy), \(siren)]", "fence: [\(siren)]") == [1])
    #expect(try places("any: [\(ntfy), \(gotify)]", "any: [\(gotify), \(ntfy)]") == [1, 0])
  }

  @Test func `a corrected hook keeps its events, and one of another kind does not get them`() throws {
    #expect(try places("fence: \(ntfy)", "fence: \(gotify)") == [0])
    #expect(try places("fence: \(ntfy)", "fence: \(siren)") == [nil])
    #expect(try places("fence: \(ntfy)", "supply: \(ntfy)") == [nil])
  }
}
