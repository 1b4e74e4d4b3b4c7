import Guarding
import HardwareIO

/// Keeps a new device from starting while a device of the previous board still uses the same hardware.
final class StartGate: Sendable {
  private struct State {
    var holdCount = 0
    var waiting: [WakeSignal] = []
  }

  /// After this time a wait is reported. A device usually stops within milliseconds.
  private static let patience = Duration.seconds(5)

  private let state = Guarded(State())

  /// Whether a device of the previous board still uses the hardware.
  var isClosed: Bool { state.withLock { $0.holdCount > 0 } }

  /// Closes the gate for one more device that still uses the hardware.
  func close() { state.withLock { $0.holdCount += 1 } }

  /// Records that one of the devices has stopped. The last one opens the gate.
  func open() {
    let woken = state.withLock { state -> [WakeSignal] in
      state.holdCount -= 1
      if state.holdCount > 0 { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiting in woken { waiting.raise() }
  }

  /// Waits on the reader's thread until no other device uses the hardware.
  ///
  /// - Parameters:
  ///   - poller: ends the wait early when the reader is told to stop
  ///   - isLate: called once if the wait takes long
  /// - Returns: whether the device may start; `false` if its reader was told to stop
  func wait(_ poller: Poller, isLate: () -> Void = {}) -> Bool {
    let news = WakeSignal()
    let mustWait = state.withLock { state in
      if state.holdCount == 0 { return false }
      state.waiting.append(news)
      return true
    }
    guard mustWait else { return true }
    defer { state.withLock { $0.waiting.removeAll { $0 === news } } }
    // Without a descriptor, this thread asks again each second.
    let descriptor = news.fileDescriptor < 0 ? nil : news.fileDescriptor
    var waited = Duration.zero
    var wasLate = false
    while isClosed {
      let limit: Duration? = descriptor == nil ? .seconds(1) : wasLate ? nil : StartGate.patience
      switch poller.wait(for: descriptor, atMost: limit) {
      case .stopped: return false
      case .readable: return true
      case .timedOut:
        waited += limit ?? .zero
        guard waited >= StartGate.patience, !wasLate else { continue }
        wasLate = true
        isLate()
      }
    }
    return true
  }
}

extension DeviceMonitor {
  /// Waits until no device of the previous board uses the same hardware.
  ///
  /// - Returns: whether the device may start; `false` if its reader was told to stop
  func waitsForGate(_ poller: Poller) -> Bool {
    var isLate = false
    defer { if isLate { setWarning(about: .predecessor, nil) } }
    return startGate.wait(poller) {
      isLate = true
      setWarning(
        about: .predecessor,
        "it has not started: a device of the previous board file with the same name, port, chip or line has not stopped"
      )
    }
  }
}
