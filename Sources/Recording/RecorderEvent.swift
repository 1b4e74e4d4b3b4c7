import MCAP

/// The reports of a recorder for the owner of a hub; each once, at its beginning and at its end.
public enum RecorderEvent: Equatable, Sendable {
  /// Why messages are lost.
  public enum Loss: Equatable, Sendable {
    /// Messages come faster than they are written, and the oldest waiting ones are dropped.
    case slow
    /// Nothing can be written, and the waiting messages exceed the memory, or written ones did not reach the disk.
    case failing
  }

  /// A file was opened, the first of this recording.
  case began(segment: String)
  /// A segment that a hub before this one left was made whole.
  case repaired(segment: String, messageCount: UInt64, lostByteCount: UInt64)
  case notRepaired(segment: String, MCAPError)
  /// The recording is not compressed, although that is configured.
  case notCompressed(MCAPError)
  /// Nothing can be written; it is tried again.
  case failed(MCAPError)
  /// It can again.
  case recovered
  /// The disk is full, and the oldest segment made room though the budget would have allowed it to stay.
  case removedForRoom(segment: String)
  case losing(Loss)
  /// Everything is written again; this number of messages is missing.
  case lost(messageCount: Int)
  /// The recording has ended, and this number of messages could not be written until then.
  case ended(lostMessageCount: Int)
  /// The system has no thread to give.
  case lacksThread(errno: Int32)
}
