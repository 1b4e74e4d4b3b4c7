/// Settings of the kernel that are changed for a while. The previous values are restored, the last change first.
public struct IIOChanges: Sendable {
  private struct Found {
    var path: String
    var text: String
  }

  private let files: any IIOFiles
  private var found: [Found] = []

  public init(_ files: any IIOFiles) { self.files = files }

  /// Writes a text if the present one is different.
  public mutating func set(_ text: String, _ path: String) throws(HardwareError) {
    let before = try files.text(path)
    if before == text { return }
    try files.write(text, to: path)
    found.append(Found(path: path, text: before))
  }

  /// Restores the previous values. Errors are ignored, because they mean that the device is gone.
  public mutating func revert() {
    while let last = found.popLast() {
      // A file that said nothing is told nothing: the end of a line, as the kernel does not hear of an empty text.
      try? files.write(last.text.isEmpty ? "\n" : last.text, to: last.path)
    }
  }
}
