/// An observer of the progress of reading a recording.
public protocol ReadingProgress: AnyObject, Sendable {
  /// One more message has been read.
  func advance()
  /// There are no more.
  ///
  /// - Parameter vanishedFileCount: files of a folder that were removed before they were read
  func finish(vanishedFileCount: Int)
}
