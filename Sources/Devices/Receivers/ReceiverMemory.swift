import Guarding
import HardwareIO
import MonotonicTime

/// The knowledge about a receiver from one run to the next.
public final class ReceiverMemory: Sendable {
  struct Contents: Sendable {
    /// The port's device, to which this knowledge applies.
    var node: DeviceNode?
    /// As it has answered last; asked again it is asked in that language first.
    var receiver: (any CommandedReceiver)?
    /// At which it talks when it has forgotten its settings.
    var firstSpeed: BaudRate?
    /// At which it talked last.
    var lastSpeed: BaudRate?
    /// How it rests at present, if it does.
    var asleep: ReceiverSleep?
    var asleepSince: MonotonicInstant?
    /// Evidence that it is frozen: a visit may be too short to find out.
    var suspicion = FrozenReceiver()
    /// The duration of its unsuccessful search, for the same reason.
    var search = SearchWatch()
    /// The restarts that were tried while it did not work.
    var ladder = RestartLadder()
    /// What its owner knows of that.
    var trouble: String?
    /// The start of the supply period in which it was last given its earlier knowledge.
    var givenSince: MonotonicInstant?
    /// The number of times in a row that it did not report its knowledge.
    var savedInVain = 0
    /// When it last wrote that into its flash.
    var writtenAt: MonotonicInstant?
    /// What did not go well of saying that, and of taking it back.
    var savingProblem: String?
    var givingProblem: String?
  }

  private let contents = Guarded(Contents())

  public init() {}

  var present: Contents {
    get { contents.withLock { $0 } }
    set { contents.withLock { $0 = newValue } }
  }

  /// Whether it rests so that nothing wakes it which is said to it.
  ///
  /// - Parameter suppliedSince: who fell asleep before that is awake
  public func wakesBySupplyAlone(suppliedSince: MonotonicInstant) -> Bool {
    contents.withLock { contents in
      guard let asleep = contents.asleep, let since = contents.asleepSince, since >= suppliedSince else { return false }
      return contents.receiver.map { $0.wakingBytes(from: asleep) == nil } ?? false
    }
  }

  /// The port has been opened. For a different device all knowledge is discarded; one that was plugged in again does
  /// not sleep any more.
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
