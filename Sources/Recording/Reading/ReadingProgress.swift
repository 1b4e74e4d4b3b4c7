/// Somebody who is told how far the reading of a recording has come.
public protocol ReadingProgress: AnyObject, Sendable {
  /// One more message has been read.
  func advance()
  /// There are no more.
  ///
  /// - Parameter vanishedFileCount: files of a folder that somebody has removed before it was their turn
  func finish(vanishedFileCount: Int)
}
