import Guarding
import Publishing

/// The recorded output of one device.
public final class ReplayPort<Message: Sendable>: Sendable {
  enum Event: Sendable {
    /// The device was supplied.
    case began
    case message(Message)
    /// It was not any more.
    case ended
  }

  let events = Subject<Event, Never>()
  private let isOn = Guarded(false)

  /// Whether the device was supplied at the time that is played.
  var isSupplied: Bool { isOn.withLock { $0 } }

  /// The device was supplied from here on.
  func begin() {
    let isChange = isOn.withLock { isOn in
      defer { isOn = true }
      return !isOn
    }
    if isChange { events.send(.began) }
  }

  /// It was not any more.
  func end() {
    let isChange = isOn.withLock { isOn in
      defer { isOn = false }
      return isOn
    }
    if isChange { events.send(.ended) }
  }

  /// Its output, which implies that it was supplied.
  public func send(_ message: Message) {
    begin()
    events.send(.message(message))
  }
}
