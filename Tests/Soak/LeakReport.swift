/// What the leak sanitizer says of a process that ends.
enum LeakReport {
  /// Whether it takes nothing for leaked but side tables. Once an object has been referred to weakly, its reference count is a table
  /// of its own, and the object has in place of the count that table's address, shifted to make room for flags: no pointer that
  /// the sanitizer knows. It finds such tables leaked where a thread still has the objects as the process ends. An object that
  /// is leaked is named beside its table.
  ///
  /// By a suppression it would not be: what a suppressed leak leads to is none either, and a table leads to its object.
  ///
  /// - Parameter text: all that the process has written
  static func isOfSideTablesAlone(_ text: String) -> Bool {
    let reports = text.split(separator: "==ERROR: ", omittingEmptySubsequences: false).dropFirst()
    guard reports.count == 1, let report = reports.first, report.hasPrefix("LeakSanitizer: ") else { return false }
    let leaks = report.split(separator: " leak of ", omittingEmptySubsequences: false).dropFirst()
    return !leaks.isEmpty && leaks.allSatisfy { $0.contains("formWeakReference") }
  }
}
