import Guarding
import HardwareIO
import MonotonicTime

/// The knowledge about a receiver from one run to the next.
public final class ReceiverMemory: Sendable {
  struct Contents: Sendable {
    /// The port's device, to which this knowledge applies.
    var node: DeviceNode?
    /// The receiver as it last answered. Later it is asked first in that protocol.
    var receiver: (any CommandedReceiver)?
    /// The speed at which it sends after it has lost its settings.
    var firstSpeed: BaudRate?
    /// The last speed at which it sent.
    var lastSpeed: BaudRate?
    /// Its present sleep mode, if it sleeps.
    var asleep: ReceiverSleep?
    var asleepSince: MonotonicInstant?
    /// The evidence that it is frozen, because a visit may be too short to decide.
    var suspicion = FrozenOutputDetector()
    /// The duration of its unsuccessful search, because a visit may be too short to decide.
    var search = FailedSearchDetector()
    /// The restarts that were tried while it did not work.
    var restartPolicy = RestartPolicy()
    /// The problem that was reported to its owner.
    var trouble: String?
    /// The start of the supply period in which it was last sent its earlier data.
    var givenSince: MonotonicInstant?
    /// The number of consecutive times that it did not report its data.
    var savedInVain = 0
    /// When it last wrote its data into its flash.
    var writtenAt: MonotonicInstant?
    /// The problems with saving its data, and with giving the data back.
    var savingProblem: String?
    var givingProblem: String?
  }

  private let contents = Guarded(Contents())

  public init() {}

  var present: Contents {
    get { contents.withLock { $0 } }
    set { contents.withLock { $0 = newValue } }
  }

  /// Whether it sleeps so that no bytes wake it.
  ///
  /// - Parameter suppliedSince: the start of the supply, which wakes a receiver that fell asleep before
  public func wakesBySupplyAlone(suppliedSince: MonotonicInstant) -> Bool {
    contents.withLock { contents in
      guard let asleep = contents.asleep, let since = contents.asleepSince, since >= suppliedSince else { return false }
      return contents.receiver.map { $0.wakingBytes(from: asleep) == nil } ?? false
    }
  }

  /// Records that the port has been opened. For a different device, all knowledge is discarded. A device that was
  /// plugged in again does not sleep any more.
  ///
  /// - Returns: whether it is another device than before
  func opened(_ node: DeviceNode?) -> Bool {
    guard let node else { return false }
    return contents.withLock { contents in
      defer { contents.node = node }
      guard let before = contents.node, before != node else { return false }
      if before.place == node.place {
        contents.asleep = nil
        return false
      }
      contents = Contents()
      return true
    }
  }
}
