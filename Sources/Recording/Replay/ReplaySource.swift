/// The source of a replay: measurements in the order of their times.
public protocol ReplaySource {
  /// The next message; `nil` at the end.
  mutating func next() throws -> ReplayedMessage?
}
