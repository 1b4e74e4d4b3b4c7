/// Somebody who is told how far the reading of a recording has come.
public protocol ReadingProgress: AnyObject, Sendable {
  /// One more message has been read.
  func advance()
  /// There are no more.
  func finish()
}
