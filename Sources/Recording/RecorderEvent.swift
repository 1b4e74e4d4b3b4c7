import MCAP

/// An event that a recorder reports. A lasting condition is reported when it begins and when it ends.
public enum RecorderEvent: Equatable, Sendable {
  /// The reason why messages are lost.
  public enum Loss: Equatable, Sendable {
    /// Messages come faster than they are written, and the oldest waiting ones are dropped.
    case slow
    /// Nothing can be written, so more messages wait than the queue can hold; or the disk has lost written ones.
    case failing
  }

  /// The recording's first file was opened.
  case began(segment: String)
  /// A segment of a previous hub was repaired.
  case repaired(segment: String, messageCount: UInt64, lostByteCount: UInt64)
  case notRepaired(segment: String, MCAPError)
  /// The recording is not compressed, although the board file requests it.
  case notCompressed(MCAPError)
  /// Nothing can be written; the recorder tries again.
  case failed(MCAPError)
  /// Writing works again.
  case recovered
  /// The disk is full, so the oldest segment was removed although the budget had room for it.
  case removedForRoom(segment: String)
  case losing(Loss)
  /// The loss has ended; this number of messages was lost.
  case lost(messageCount: Int)
  /// The recording has ended, and this number of messages could not be written.
  case ended(lostMessageCount: Int)
  /// The system could not start a thread.
  case lacksThread(errno: Int32)
}
