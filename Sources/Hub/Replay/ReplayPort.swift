import Guarding
import Publishing

/// The recorded output of one device.
public final class ReplayPort<Message: Sendable>: Sendable {
  enum Event: Sendable {
    /// The device's supply came on.
    case began
    case message(Message)
    /// The device's supply went off.
    case ended
  }

  let events = Subject<Event, Never>()
  private let isOn = Guarded(false)

  /// Whether the device's supply was on at the time that the replay has reached.
  var isSupplied: Bool { isOn.withLock { $0 } }

  /// Records that the device's supply came on.
  func begin() {
    let isChange = isOn.withLock { isOn in
      defer { isOn = true }
      return !isOn
    }
    if isChange { events.send(.began) }
  }

  /// Records that the device's supply went off.
  func end() {
    let isChange = isOn.withLock { isOn in
      defer { isOn = false }
      return isOn
    }
    if isChange { events.send(.ended) }
  }

  /// Sends recorded output, which implies that the device's supply was on.
  public func send(_ message: Message) {
    begin()
    events.send(.message(message))
  }
}
