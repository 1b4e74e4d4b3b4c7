/// A mistake in a board file, and its place.
public enum BoardError: Error, Equatable, Sendable {
  case unreadable(file: String, reason: String)
  /// The file is not JSON5.
  case syntax(file: String, line: Int, reason: String)
  case unknownKey(file: String, line: Int, keyPath: String, nearest: String?)
  case missingKey(file: String, line: Int, keyPath: String)
  /// The value has the wrong type, or is not allowed.
  case wrongValue(file: String, line: Int, keyPath: String, expected: String)
}

extension BoardError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let file, let reason): "cannot read '\(file)': \(reason)"
    case .syntax(let file, let line, let reason): "\(file):\(line): \(reason)"
    case .unknownKey(let file, let line, let keyPath, let nearest):
      "\(file):\(line): unknown key '\(keyPath)'\(nearest.map { "; did you mean '\($0)'?" } ?? "")"
    case .missingKey(let file, let line, let keyPath): "\(file):\(line): '\(keyPath)' is missing"
    case .wrongValue(let file, let line, let keyPath, let expected): "\(file):\(line): '\(keyPath)' must be \(expected)"
    }
  }
}
