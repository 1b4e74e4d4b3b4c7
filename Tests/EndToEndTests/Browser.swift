import FoundationEssentials
import Glibc
import TestSupport

/// A tab of Debian's Chromium, driven through WebDriver. Each test has a new tab, in which no page has stored anything.
final class Browser {
  private let process: BrowserProcess
  private var origins: Set<String> = []

  init() throws { process = try BrowserProcess.take() }

  deinit { process.leave(origins) }

  func open(_ address: String) throws {
    let parts = address.split(separator: "/", maxSplits: 2)
    if parts.count > 1 { origins.insert("\(parts[0])//\(parts[1])") }
    try process.command("/url", #"{"url": "\#(address)"}"#)
  }

  /// Short names for the scripts of tests.
  private static let names = """
    const element = (id) => document.getElementById(id);
    const text = (id) => element(id).textContent;
    /** The colours of a canvas's pixels. The copy leaves the canvas as the page has it. */
    const pixels = (canvas) => {
      const { width, height } = canvas;
      const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      return copy.getImageData(0, 0, width, height).data;
    };
    const colourCount = (canvas) => new Set(new Uint32Array(pixels(canvas).buffer)).size;

    """

  /// Returns the text that a JavaScript expression evaluates to.
  func text(_ expression: String) throws -> String {
    try process.call("POST", "/execute/sync", body(script: "\(Browser.names)return String(\(expression))"))
  }

  /// Waits until a JavaScript condition holds. The page itself evaluates the condition whenever it has changed, was
  /// drawn or has another size. The test waits for a single answer of the browser.
  ///
  /// - Parameters:
  ///   - condition: an expression that may use `element(id)`, `text(id)`, `pixels(canvas)` and `colourCount(canvas)`.
  ///     It does not hold while it throws an error, such as that of an element that does not exist yet.
  ///   - limit: how long it may take until it holds
  func sees(_ condition: String, within limit: Duration = .seconds(180)) throws -> Bool {
    let script = """
      \(Browser.names)
      const done = arguments[0];
      const holds = () => { try { return Boolean(\(condition)); } catch { return false; } };
      if (holds()) return done(true);
      const events = ["load", "resize", "scroll", "visibilitychange", "transitionend", "animationend"];
      const look = () => holds() && end(true);
      // A canvas has no events. The page draws it in an animation frame.
      const ask = window.requestAnimationFrame;
      window.requestAnimationFrame = (draw) => ask((time) => { try { draw(time); } finally { look(); } });
      const changes = new MutationObserver(look);
      changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      for (const event of events) window.addEventListener(event, look, true);
      const late = setTimeout(() => end(holds()), \(Int(limit / .milliseconds(1))));
      // The page may have requested a frame before this script replaced the function.
      setTimeout(look, 50);
      function end(outcome) {
        changes.disconnect();
        for (const event of events) window.removeEventListener(event, look, true);
        window.requestAnimationFrame = ask;
        clearTimeout(late);
        done(outcome);
      }
      """
    func outcome() throws -> Bool { try process.call("POST", "/execute/async", body(script: script)) }
    do {
      return try outcome()
    } catch let failure as BrowserProcess.Failure where failure.isOfReplacedPage {
      // The page has reloaded itself.
      return try outcome()
    }
  }

  /// Waits until a JavaScript expression evaluates to this text.
  func shows(_ text: String, at expression: String, within limit: Duration = .seconds(180)) throws -> Bool {
    let quoted = try JSONEncoder().encode(text)
    return try sees("String(\(expression)) === \(String(decoding: quoted, as: UTF8.self))", within: limit)
  }

  /// Returns the text that a JavaScript promise resolves to.
  func awaitedText(_ promise: String) throws -> String {
    try process.call(
      "POST", "/execute/async", body(script: "(\(promise)).then((x) => arguments[0](String(x)))"))
  }

  /// Runs a script of any length.
  func run(_ script: String) throws { try process.command("/execute/sync", body(script: script)) }

  func developerTool(_ method: String, _ parameters: String) throws {
    try process.command("/goog/cdp/execute", #"{"cmd": "\#(method)", "params": \#(parameters)}"#)
  }

  func minimize() throws { try process.command("/window/minimize", "{}") }
  func restore() throws { try process.resize() }

  /// A screenshot as a PNG file.
  func screenshot() throws -> [UInt8] {
    let text: String = try process.call("GET", "/screenshot")
    return Data(base64Encoded: text).map(Array.init) ?? []
  }

  /// The page's errors, or its activity: `browser` or `performance`.
  func log(_ type: String) throws -> [BrowserProcess.LogEntry] { try process.log(type) }

  private func body(script: String) throws -> String {
    let quoted = try JSONEncoder().encode(script)
    return #"{"script": \#(String(decoding: quoted, as: UTF8.self)), "args": []}"#
  }
}
