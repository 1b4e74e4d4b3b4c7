import FoundationEssentials
import Glibc
import TestSupport

/// Debian's Chromium without a window, driven as WebDriver has it.
final class Browser {
  private let driver: Program
  private let port = SocketClient.freePort()
  private var session = ""

  private struct Answer<Value: Decodable>: Decodable { var value: Value }
  private struct Session: Decodable { var sessionId: String }
  private struct Nothing: Decodable {}
  struct LogEntry: Decodable { var message: String }

  init() {
    driver = Program(["--port=\(port)"], path: "/usr/bin/chromedriver")
    let port = port
    _ = eventually { SocketClient.isListening(port) }
    let options = """
      {"binary": "/usr/bin/chromium",
       "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--window-size=1280,1000"]}
      """
    let logs = #"{"browser": "ALL", "performance": "ALL"}"#
    let made: Session = call(
      "POST", "/session",
      #"{"capabilities": {"alwaysMatch": {"goog:chromeOptions": \#(options), "goog:loggingPrefs": \#(logs)}}}"#)
    session = "/session/\(made.sessionId)"
  }

  deinit {
    let _: Nothing? = call("DELETE", session)
    driver.send(SIGTERM)
    driver.wait()
  }

  func open(_ address: String) { command("/url", #"{"url": "\#(address)"}"#) }

  /// The text that a JavaScript expression makes.
  func text(_ expression: String) -> String {
    call("POST", session + "/execute/sync", body(script: "return String(\(expression))"))
  }

  /// The text that a JavaScript promise comes to.
  func awaitedText(_ promise: String) -> String {
    call("POST", session + "/execute/async", body(script: "(\(promise)).then((x) => arguments[0](String(x)))"))
  }

  /// Runs a script of whatever length.
  func run(_ script: String) { command("/execute/sync", body(script: script)) }

  func developerTool(_ method: String, _ parameters: String) {
    command("/goog/cdp/execute", #"{"cmd": "\#(method)", "params": \#(parameters)}"#)
  }

  func minimize() { command("/window/minimize", "{}") }
  func restore() { command("/window/rect", #"{"width": 1280, "height": 1000}"#) }

  /// A PNG file.
  func screenshot() -> [UInt8] {
    let text: String = call("GET", session + "/screenshot")
    return Data(base64Encoded: text).map(Array.init) ?? []
  }

  /// What the page has complained of, or what it has done: `browser` or `performance`.
  func log(_ type: String) -> [LogEntry] { call("POST", session + "/se/log", #"{"type": "\#(type)"}"#) }

  private func body(script: String) -> String {
    let quoted = try! JSONEncoder().encode(script)
    return #"{"script": \#(String(decoding: quoted, as: UTF8.self)), "args": []}"#
  }

  private func command(_ path: String, _ body: String) {
    // Most answer with null, which no type but this takes.
    let _: Nothing? = call("POST", session + path, body)
  }

  private func call<Value: Decodable>(_ method: String, _ path: String, _ body: String = "") -> Value {
    let answer = HTTPAnswer(
      port, method, path, ["Content-Length: \(body.utf8.count)"], body: body, host: "localhost:\(port)")
    do {
      return try JSONDecoder().decode(Answer<Value>.self, from: Data(answer.body.utf8)).value
    } catch {
      fatalError("\(method) \(path): \(answer.head.prefix(300)) \(answer.body.prefix(1000))")
    }
  }
}
