import MCAP

/// What whoever looks after a hub should hear of its recorder; each once, when it begins and when it is over.
public enum RecorderEvent: Equatable, Sendable {
  /// Why messages are lost.
  public enum Loss: Equatable, Sendable {
    /// More comes than is written, and the oldest of what waits goes.
    case slow
    /// Nothing can be written, and what waits is too much for the memory, or what was written did not reach the disk.
    case failing
  }

  /// A file was opened, the first of this recording.
  case began(segment: String)
  /// A segment that a hub before this one left was made whole.
  case repaired(segment: String, messageCount: UInt64, lostByteCount: UInt64)
  case notRepaired(segment: String, MCAPError)
  /// What is recorded is not compressed, though that is wanted.
  case notCompressed(MCAPError)
  /// Nothing can be written; it is tried again.
  case failed(MCAPError)
  /// It can again.
  case recovered
  /// The disk is full, and the oldest segment made room though the budget would have allowed it to stay.
  case removedForRoom(segment: String)
  case losing(Loss)
  /// All is written again; so many messages are missing.
  case lost(messageCount: Int)
  /// The end has come, and so many messages could not be written until then.
  case ended(lostMessageCount: Int)
  /// The system has no thread to give.
  case lacksThread(errno: Int32)
}
