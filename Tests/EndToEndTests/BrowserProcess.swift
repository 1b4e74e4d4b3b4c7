import FoundationEssentials
import Glibc
import Guarding
import TestSupport
import Testing

/// Debian's Chromium without a window on a screen, and its driver. Tests use it one after the other, because a new
/// browser takes three times the processor time of a new tab.
final class BrowserProcess: Sendable {
  private let driver: Program
  /// The folder for its profile, which it leaves behind.
  private let folder: TemporaryFolder
  private let port: UInt16
  /// The path of the session, with which the path of each command begins.
  private let session: String

  /// An error for a driver that does not answer, or answers with something unexpected.
  struct Failure: Error {
    var command, answer: String

    /// Whether the page was replaced by another one while its script ran.
    var isOfReplacedPage: Bool { answer.contains("unloaded") || answer.contains("navigat") }
  }

  private struct Answer<Value: Decodable>: Decodable { var value: Value }
  private struct Session: Decodable { var sessionId: String }
  private struct Tab: Decodable { var handle: String }
  private struct Nothing: Decodable {}
  struct LogEntry: Decodable { var message: String }

  private init() throws {
    let folder = TemporaryFolder("browser")
    let port = SocketClient.freePort()
    self.folder = folder
    self.port = port
    driver = Program(
      ["--port=\(port)"], path: "/usr/bin/chromedriver", environment: ["TMPDIR=\(folder.path)"])
    let options = """
      {"binary": "/usr/bin/chromium",
       "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--window-size=1280,1000"]}
      """
    let logs = #"{"browser": "ALL", "performance": "ALL"}"#
    // The default is half a minute, but on a busy machine the audit of a page takes longer.
    let limits = #"{"script": 240000, "pageLoad": 240000}"#
    let wanted = #"{"goog:chromeOptions": \#(options), "goog:loggingPrefs": \#(logs), "timeouts": \#(limits)}"#
    func begin() throws -> String {
      let made: Session = try BrowserProcess.call(
        port, "POST", "/session", #"{"capabilities": {"alwaysMatch": \#(wanted)}}"#)
      return "/session/\(made.sessionId)"
    }
    // On a busy machine the driver may give up before the browser is ready.
    do {
      session = try begin()
    } catch is Failure {
      session = try begin()
    }
  }

  deinit {
    let _: Nothing? = try? call("DELETE", "")
    driver.send(SIGTERM)
    driver.wait()
  }

  /// Sends a command to the driver.
  ///
  /// - Parameter path: the path after that of the session
  func call<Value: Decodable>(_ method: String, _ path: String, _ body: String = "") throws -> Value {
    try BrowserProcess.call(port, method, session + path, body)
  }

  /// Sends a command without a result.
  func command(_ path: String, _ body: String) throws {
    // Most commands answer with null, which only this type accepts.
    let _: Nothing? = try call("POST", path, body)
  }

  /// Shows the window in its usual size.
  func resize() throws { try command("/window/rect", #"{"width": 1280, "height": 1000}"#) }

  func log(_ type: String) throws -> [LogEntry] { try call("POST", "/se/log", #"{"type": "\#(type)"}"#) }

  /// Replaces the tab by a new one, which has none of the old one's sizes, colours and pages. A new window would
  /// take twice the processor time.
  ///
  /// - Parameter origins: the sites that forget what their pages have stored
  private func replaceTab(forgetting origins: Set<String>) throws {
    for origin in origins {
      try command(
        "/goog/cdp/execute",
        #"{"cmd": "Storage.clearDataForOrigin", "params": {"origin": "\#(origin)", "storageTypes": "all"}}"#)
    }
    // The window may be minimized.
    try resize()
    let tab: Tab = try call("POST", "/window/new", #"{"type": "tab"}"#)
    let _: [String] = try call("DELETE", "/window")
    try command("/window", #"{"handle": "\#(tab.handle)"}"#)
    for type in ["browser", "performance"] { _ = try log(type) }
  }

  private static func call<Value: Decodable>(_ port: UInt16, _ method: String, _ path: String, _ body: String) throws
    -> Value
  {
    let answer = HTTPAnswer(
      port, method, path, ["Content-Length: \(body.utf8.count)"], body: body, host: "localhost:\(port)",
      asksToClose: false, within: .seconds(270))
    guard let value = try? JSONDecoder().decode(Answer<Value>.self, from: Data(answer.body.utf8)).value else {
      throw Failure(command: "\(method) \(path)", answer: "\(answer.head.prefix(300)) \(answer.body.prefix(1000))")
    }
    return value
  }

  // MARK: Use by one test after the other

  private struct Kept: Sendable {
    var suiteCount = 0
    var unused: [BrowserProcess] = []
  }

  private static let kept = Guarded(Kept())

  /// An unused browser, or a new one.
  static func take() throws -> BrowserProcess { try kept.withLock { $0.unused.popLast() } ?? BrowserProcess() }

  /// Keeps the browser for the next test, unless no suite needs any more browsers.
  ///
  /// - Parameter origins: the sites that the test has visited
  func leave(_ origins: Set<String>) {
    // A browser that no longer answers is of no use to another test.
    guard (try? replaceTab(forgetting: origins)) != nil else { return }
    BrowserProcess.kept.withLock { if $0.suiteCount > 0 { $0.unused.append(self) } }
  }

  /// Keeps browsers until `body` returns, which runs a suite.
  static func keep(while body: () async throws -> Void) async rethrows {
    kept.withLock { $0.suiteCount += 1 }
    defer {
      // The browsers end outside the lock.
      _ = kept.withLock { kept in
        kept.suiteCount -= 1
        defer { if kept.suiteCount == 0 { kept.unused = [] } }
        return kept.suiteCount == 0 ? kept.unused : []
      }
    }
    try await body()
  }
}
