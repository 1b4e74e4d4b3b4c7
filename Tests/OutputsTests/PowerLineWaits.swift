import TestSupport

@testable import Simulation

extension PowerLines {
  /// Blocks until a line has a level. The level is read after each change, and first after the observer was added, so no
  /// change is missed.
  ///
  /// - Returns: whether the line had the level before the deadline of a test
  func waits(for level: Bool, of line: String) -> Bool {
    let news = News()
    observe(line) { _ in news.came() }
    return news.waits { self.level(line) == level }
  }
}
