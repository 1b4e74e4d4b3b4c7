import Guarding
import HardwareIO
import MonotonicTime

/// What is known of a receiver from one run to the next.
public final class ReceiverMemory: Sendable {
  struct Contents: Sendable {
    var receiver: (any CommandedReceiver)?
    /// At which it talks when it has forgotten its settings.
    var firstSpeed: BaudRate?
    /// At which it talked last.
    var lastSpeed: BaudRate?
    /// How it rests at present, if it does.
    var asleep: ReceiverSleep?
    var asleepSince: MonotonicInstant?
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
}
