import Glibc
import MCAP
import Recording

extension RecorderEvent {
  /// The log line for an event.
  ///
  /// - Parameter folder: the folder of the segments
  func line(_ folder: String) -> (priority: JournalSink.Priority, text: String) {
    switch self {
    case .began(let segment): return (.notice, "recording to \(folder)/\(segment)")
    case .repaired(let segment, let messageCount, let lostByteCount):
      return (
        .notice,
        "\(folder)/\(segment) was cut off and is repaired: \(messageCount) messages, \(lostByteCount) bytes lost"
      )
    case .notRepaired(let segment, let error):
      return (.warning, "\(folder)/\(segment) cannot be repaired, and stays unchanged: \(error)")
    case .notCompressed(let error): return (.warning, "the recording is not compressed: \(error)")
    case .failed(let error):
      return (
        .warning,
        "recording stopped: \(error); trying again, with new data in memory\(RecorderEvent.next(error))"
      )
    case .recovered: return (.notice, "recording to \(folder) works again")
    case .removedForRoom(let segment):
      return (.warning, "the disk is full: \(folder)/\(segment) was deleted to continue the recording")
    case .losing(.slow): return (.warning, "records are lost: the disk of \(folder) is too slow")
    case .losing(.failing): return (.warning, "records are lost: cannot write to \(folder)")
    case .ended(let count):
      return (
        .warning,
        "recording to \(folder) has ended; \(count) \(count == 1 ? "record" : "records") could not be written and "
          + "\(count == 1 ? "is" : "are") lost"
      )
    case .lost(let count):
      return (.warning, "recording works again; \(count) \(count == 1 ? "record is" : "records are") missing")
    case .lacksThread(let errno):
      return (.error, "recording failed: cannot start a thread: \(String(cString: strerror(errno)))")
    }
  }

  private static func next(_ error: MCAPError) -> String {
    guard case .system(let action, let number) = error else { return "" }
    return switch number {
    case ENOSPC, EDQUOT: "; free some space on the disk, or reduce 'record.maximumMegabytes'"
    case EACCES, EPERM: "; give the hub's user write access to the folder: chown, and ReadWritePaths= in the hub's unit"
    case EROFS: "; the disk is read-only, at least for the hub: check mount, and ReadWritePaths= in the hub's unit"
    // A removed folder needs no next step: the recorder makes it again for the next segment.
    case ENOENT where !action.hasPrefix("making the folder"): ""
    case ENOENT, ENOTDIR: "; the hub creates only the last folder of 'record.path': create the folders above it"
    default: ""
    }
  }
}
