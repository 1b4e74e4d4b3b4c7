/// Kernel settings that are changed temporarily. Reverting restores the previous values, the last change first.
public struct IIOChanges: Sendable {
  private struct Found {
    var path: String
    var text: String
  }

  private let files: any IIOFiles
  private var found: [Found] = []

  public init(_ files: any IIOFiles) { self.files = files }

  /// Writes a setting if its present value differs.
  public mutating func set(_ text: String, _ path: String) throws(HardwareError) {
    let before = try files.text(path)
    if before == text { return }
    try files.write(text, to: path)
    found.append(Found(path: path, text: before))
  }

  /// Restores the previous values. Errors are ignored, because they mean that the device is gone.
  public mutating func revert() {
    while let last = found.popLast() {
      // The previous value was empty. A newline is written for it, because the kernel ignores a write of no bytes.
      try? files.write(last.text.isEmpty ? "\n" : last.text, to: last.path)
    }
  }
}
