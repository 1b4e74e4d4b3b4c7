/// An observer of the progress of reading a recording.
public protocol ReadingProgress: AnyObject, Sendable {
  /// Counts one more message.
  func advance()
  /// Ends the progress.
  ///
  /// - Parameter vanishedFileCount: the number of files of a folder that were removed before they were read
  func finish(vanishedFileCount: Int)
}
