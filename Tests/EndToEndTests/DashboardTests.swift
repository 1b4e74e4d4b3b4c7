import TestSupport
import Testing

/// The dashboard in a browser.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct DashboardTests {
  let browser: Browser

  init() throws { browser = try Browser() }

  /// Opens the page of the suite's hub.
  func openShared() throws -> HubProcess {
    let shared = try SharedHub.shared()
    try browser.open("http://localhost:\(shared.port)/")
    return shared.hub
  }

  /// Opens the page of a hub of the test's own, by default on the simulated board.
  func open(_ port: UInt16, board: String? = nil) throws -> HubProcess {
    let hub = HubProcess(board: board ?? HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    try browser.open("http://localhost:\(port)/")
    return hub
  }

  func text(of id: String) throws -> String { try browser.text("document.getElementById('\(id)').textContent") }

  func isLive() throws -> Bool { try browser.shows("fused", at: "text('mode')") }

  /// A hub with a recorder and earlier recordings: a track of the last hours, seen half an hour ago, and the receiver's
  /// times of activity.
  func recordingHub(_ folder: RecordedDay, port: UInt16) throws -> HubProcess {
    try folder.write()
    return try open(
      port,
      board: HubProcess.simulatedBoard(
        "http: { port: \(port) }, record: { path: \"\(folder.path)\", syncSeconds: 0.2 }"))
  }
}
