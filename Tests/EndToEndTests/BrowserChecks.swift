import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Properties that the dashboard has in every state.
extension Browser {
  /// Shows the page in a colour scheme, without transitions: a colour halfway between two schemes has little contrast.
  func prefer(scheme: String) throws {
    let features = ["prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"]
    let list = features.map { #"{"name": "\#($0)", "value": "\#($1)"}"# }.joined(separator: ", ")
    try developerTool("Emulation.setEmulatedMedia", #"{"features": [\#(list)]}"#)
  }

  /// The page must not need scrolling, because a screen on a wall cannot be scrolled, and people do not scroll a phone
  /// sideways.
  ///
  /// - Parameters:
  ///   - name: the name of the saved pictures, with `WIDTH` for the width
  ///   - height: the height of a small desktop screen
  func expectNoScrolling(savingAs name: String, at height: Int = 1000) throws {
    for (width, height, isMobile) in [(1920, 1080, false), (1280, height, false), (390, 844, true)] {
      try developerTool(
        "Emulation.setDeviceMetricsOverride",
        #"{"width": \#(width), "height": \#(height), "deviceScaleFactor": 1, "mobile": \#(isMobile)}"#)
      #expect(try shows("\(width)", at: "innerWidth"))
      #expect(
        try shows("\(width)", at: "document.documentElement.scrollWidth"), "it has to be scrolled sideways at \(width)")
      #expect(
        try isMobile || shows("\(height)", at: "document.documentElement.scrollHeight"),
        "it has to be scrolled at \(width)")
      save(as: name.replacing("WIDTH", with: "\(width)"))
    }
  }

  /// Opens one of the dashboard's panels.
  func open(panel name: String) throws {
    // A click before the page's script has run does nothing, so it is repeated.
    #expect(try sees("(element('tab-\(name)').click(), element('panel-\(name)').checkVisibility())"))
  }

  /// Changes one of the dashboard's settings like a user.
  func choose(_ name: String, _ value: String) throws {
    try run(
      """
      const choice = document.getElementById('set-\(name)'); choice.value = '\(value)';
      choice.dispatchEvent(new Event('change'))
      """)
  }

  func showOn(width: Int, height: Int) throws {
    try developerTool(
      "Emulation.setDeviceMetricsOverride",
      #"{"width": \#(width), "height": \#(height), "deviceScaleFactor": 1, "mobile": \#(width < 500)}"#)
    #expect(try shows("\(width)", at: "innerWidth"))
  }

  /// The page has no obstacles for people who cannot see it.
  func expectAccessible() throws {
    let axe = try #require(TestTools.path("axe.min.js"), "run .ci/test-tools")
    try run(String(decoding: try Data(contentsOf: .init(filePath: axe)), as: UTF8.self))
    let violations = try awaitedText(
      """
      axe.run().then((r) => r.violations.map((v) =>
        `${v.impact} ${v.id}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary}`).join()}`).join())
      """)
    #expect(violations == "")
  }

  /// Saves a picture if the environment names a folder for pictures.
  func save(as name: String) {
    guard let folder = getenv("SENSORHUB_SCREENSHOTS").map({ String(cString: $0) }) else { return }
    mkdir(folder, 0o755)
    try? Data(try screenshot()).write(to: .init(filePath: "\(folder)/\(name).png"))
  }
}
