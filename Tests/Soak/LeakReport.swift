/// Interprets the leak sanitizer's report at the end of a process.
enum LeakReport {
  /// Whether the only reported leaks are side tables. Once an object has been referenced weakly, its reference count
  /// is a separate table. Instead of the count, the object holds the table's address, shifted to make room for flags,
  /// which the sanitizer does not recognize as a pointer. It therefore reports such tables as leaked if a thread
  /// still holds the objects when the process ends. A leaked object is reported in addition to its table.
  ///
  /// A suppression would hide that object: everything that a suppressed leak refers to is suppressed too, and a table
  /// refers to its object.
  ///
  /// - Parameter text: the complete output of the process
  static func isOfSideTablesAlone(_ text: String) -> Bool {
    let reports = text.split(separator: "==ERROR: ", omittingEmptySubsequences: false).dropFirst()
    guard reports.count == 1, let report = reports.first, report.hasPrefix("LeakSanitizer: ") else { return false }
    let leaks = report.split(separator: " leak of ", omittingEmptySubsequences: false).dropFirst()
    return !leaks.isEmpty && leaks.allSatisfy { $0.contains("formWeakReference") }
  }
}
