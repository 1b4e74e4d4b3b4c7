import FoundationEssentials
import Glibc
import TestSupport

/// Debian's Chromium without a window, driven as WebDriver has it.
final class Browser {
  private let driver: Program
  /// The folder for its profile, which it leaves behind.
  private let folder = TemporaryFolder("browser")
  private let port = SocketClient.freePort()
  private var session = ""

  private struct Answer<Value: Decodable>: Decodable { var value: Value }
  private struct Session: Decodable { var sessionId: String }
  private struct Nothing: Decodable {}
  struct LogEntry: Decodable { var message: String }

  /// An error for a driver that does not answer, or answers with something unexpected.
  struct Failure: Error {
    var command, answer: String
  }

  init() throws {
    driver = Program(
      ["--port=\(port)"], path: "/usr/bin/chromedriver", environment: ["TMPDIR=\(folder.path)"])
    let port = port
    // A browser's first start reads it from the disk, which takes longer than later starts.
    _ = eventually { SocketClient.isListening(port) }
    let options = """
      {"binary": "/usr/bin/chromium",
       "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--window-size=1280,1000"]}
      """
    let logs = #"{"browser": "ALL", "performance": "ALL"}"#
    // The default is half a minute, but on a busy machine the audit of a page takes longer.
    let limits = #"{"script": 240000, "pageLoad": 240000}"#
    let wanted = #"{"goog:chromeOptions": \#(options), "goog:loggingPrefs": \#(logs), "timeouts": \#(limits)}"#
    func begin() throws -> String {
      let made: Session = try call("POST", "/session", #"{"capabilities": {"alwaysMatch": \#(wanted)}}"#)
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
    let _: Nothing? = try? call("DELETE", session)
    driver.send(SIGTERM)
    driver.wait()
  }

  func open(_ address: String) throws { try command("/url", #"{"url": "\#(address)"}"#) }

  /// Returns the text that a JavaScript expression evaluates to.
  func text(_ expression: String) throws -> String {
    try call("POST", session + "/execute/sync", body(script: "return String(\(expression))"))
  }

  /// Waits until a JavaScript expression evaluates to this text.
  func shows(_ text: String, at expression: String) throws -> Bool {
    try eventually { try self.text(expression) == text }
  }

  /// Returns the text that a JavaScript promise resolves to.
  func awaitedText(_ promise: String) throws -> String {
    try call("POST", session + "/execute/async", body(script: "(\(promise)).then((x) => arguments[0](String(x)))"))
  }

  /// Runs a script of any length.
  func run(_ script: String) throws { try command("/execute/sync", body(script: script)) }

  func developerTool(_ method: String, _ parameters: String) throws {
    try command("/goog/cdp/execute", #"{"cmd": "\#(method)", "params": \#(parameters)}"#)
  }

  func minimize() throws { try command("/window/minimize", "{}") }
  func restore() throws { try command("/window/rect", #"{"width": 1280, "height": 1000}"#) }

  /// A screenshot as a PNG file.
  func screenshot() throws -> [UInt8] {
    let text: String = try call("GET", session + "/screenshot")
    return Data(base64Encoded: text).map(Array.init) ?? []
  }

  /// The page's errors, or its activity: `browser` or `performance`.
  func log(_ type: String) throws -> [LogEntry] { try call("POST", session + "/se/log", #"{"type": "\#(type)"}"#) }

  private func body(script: String) throws -> String {
    let quoted = try JSONEncoder().encode(script)
    return #"{"script": \#(String(decoding: quoted, as: UTF8.self)), "args": []}"#
  }

  private func command(_ path: String, _ body: String) throws {
    // Most commands answer with null, which only this type accepts.
    let _: Nothing? = try call("POST", session + path, body)
  }

  private func call<Value: Decodable>(_ method: String, _ path: String, _ body: String = "") throws -> Value {
    let answer = HTTPAnswer(
      port, method, path, ["Content-Length: \(body.utf8.count)"], body: body, host: "localhost:\(port)",
      asksToClose: false, within: .seconds(270))
    guard let value = try? JSONDecoder().decode(Answer<Value>.self, from: Data(answer.body.utf8)).value else {
      throw Failure(command: "\(method) \(path)", answer: "\(answer.head.prefix(300)) \(answer.body.prefix(1000))")
    }
    return value
  }
}
