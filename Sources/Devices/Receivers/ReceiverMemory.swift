import Guarding
import HardwareIO
import MonotonicTime

/// The data about a receiver that the hub keeps from one run of its reader to the next.
public final class ReceiverMemory: Sendable {
  struct Contents: Sendable {
    /// The port's device, to which this knowledge applies.
    var node: DeviceNode?
    /// The receiver that answered last. The next identification tries its protocol first.
    var receiver: (any CommandedReceiver)?
    /// The speed at which the receiver sends after it has lost its settings.
    var firstSpeed: BaudRate?
    /// The last speed at which the receiver sent.
    var lastSpeed: BaudRate?
    /// The problems with the receiver's settings, in words. A receiver that kept its settings while it slept is not
    /// configured again.
    var settingProblems: [String] = []
    /// The changes of settings that receivers have saved (`SettingReport.savedChanges`).
    var savedChanges: Set<String> = []
    /// Whether a client of the bridge has written to the receiver since it was last configured.
    var isAltered = false
    /// The receiver's present sleep mode; `nil` if it does not sleep.
    var asleep: ReceiverSleep?
    /// The start of the supply period in which the receiver fell asleep. It is compared for equality only, because a
    /// receiver can fall asleep and lose its supply within one tick of a coarse clock.
    var asleepSupply: MonotonicInstant?
    /// The evidence that the receiver is frozen. One run may be too short to decide.
    var suspicion = FrozenOutputDetector()
    /// The receiver's trouble and the restarts that were tried, at the end of the last run.
    var troubles = TroubleMachine()
    /// The start of the supply period in which the hub last sent the receiver its earlier data.
    var givenSince: MonotonicInstant?
    /// The number of consecutive times that the receiver did not report its satellite data.
    var savedInVain = 0
    /// When the receiver last wrote its satellite data into its flash.
    var writtenAt: MonotonicInstant?
    /// The problems with saving the receiver's satellite data, and with sending it back.
    var savingProblem: String?
    var givingProblem: String?
  }

  private let contents = Guarded(Contents())

  public init() {}

  var present: Contents {
    get { contents.withLock { $0 } }
    set { contents.withLock { $0 = newValue } }
  }

  /// Whether the receiver is in a sleep from which no bytes wake it.
  ///
  /// - Parameter suppliedSince: when the supply was switched on, which wakes a receiver that fell asleep before
  public func wakesBySupplyAlone(suppliedSince: MonotonicInstant) -> Bool {
    contents.withLock { contents in
      guard let asleep = contents.asleep, contents.asleepSupply == suppliedSince else { return false }
      return contents.receiver.map { $0.wakingBytes(from: asleep) == nil } ?? false
    }
  }

  /// Records that the port has been opened. If the port now has a different device, all data is discarded. If a device
  /// was plugged in again at the same place, it counts as the same device, which is no longer asleep.
  ///
  /// - Returns: whether the port now has a different device
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
