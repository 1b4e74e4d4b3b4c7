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
        "\(folder)/\(segment) was cut off and is whole again: \(messageCount) messages, \(lostByteCount) bytes lost"
      )
    case .notRepaired(let segment, let error):
      return (.warning, "\(folder)/\(segment) cannot be made whole, and is left as it is: \(error)")
    case .notCompressed(let error): return (.warning, "the recording is not compressed: \(error)")
    case .failed(let error):
      return (
        .warning,
        "nothing is recorded: \(error); it is tried again, and new data waits in memory\(RecorderEvent.next(error))"
      )
    case .recovered: return (.notice, "recording to \(folder) works again")
    case .removedForRoom(let segment):
      return (.warning, "the disk is full: \(folder)/\(segment) was removed to go on recording")
    case .losing(.slow): return (.warning, "records are lost: \(folder) does not take them as fast as they come")
    case .losing(.failing): return (.warning, "records are lost: nothing can be written to \(folder)")
    case .ended(let count):
      return (
        .warning,
        "recording to \(folder) has ended; \(count) \(count == 1 ? "record" : "records") could not be written and "
          + "\(count == 1 ? "is" : "are") lost"
      )
    case .lost(let count):
      return (.warning, "all is recorded again; \(count) \(count == 1 ? "record is" : "records are") missing")
    case .lacksThread(let errno):
      return (.error, "nothing is recorded: no thread for it: \(String(cString: strerror(errno)))")
    }
  }

  private static func next(_ error: MCAPError) -> String {
    guard case .system(let action, let number) = error else { return "" }
    return switch number {
    case ENOSPC, EDQUOT: "; make room on that disk, or record less: 'record.maximumMegabytes'"
    case EACCES, EPERM: "; let the hub's user write there: chown, and ReadWritePaths= in its unit"
    case EROFS: "; the disk is read-only, for the hub at least: mount, and ReadWritePaths= in its unit"
    // A removed folder needs no next step: the recorder makes it again for the next segment.
    case ENOENT where !action.hasPrefix("making the folder"): ""
    case ENOENT, ENOTDIR: "; only the last folder of 'record.path' is made, those above it have to be there"
    default: ""
    }
  }
}
