import Devices
import Guarding
import NMEA
import Publishing

/// What a receiver is given of corrections while it is read: between its reader and whoever fetches them.
public final class ReceiverCorrections: Sendable {
  private struct State {
    var status: CorrectionStatus?
    var lastFix: GNSSFix?
    /// Since it was read first.
    var monitor: DeviceMonitor?
  }

  /// What is put in here is written to the receiver.
  public let queue = CorrectionQueue()
  private let state = Guarded(State())
  private let reading = MutableProperty(false)

  init() {}

  /// Whether the receiver is read at present, and takes corrections. Told on its reader's thread, which waits for nobody.
  public var isWanted: Property<Bool> { reading.readOnly }

  /// What it has found last while it is read; `nil` before that.
  public var lastFix: GNSSFix? { state.withLock { $0.lastFix } }

  /// What has come of it so far; `nil` where nobody fetches any.
  public var status: CorrectionStatus? {
    let (lost, outcomes) = (queue.lostCount, queue.outcomes)
    return state.withLock { state in
      state.status?.lost = lost
      state.status?.outcomes = outcomes
      return state.status
    }
  }

  /// Notes what has come of it, or that nobody fetches any.
  public func note(_ status: CorrectionStatus?) { state.withLock { $0.status = status } }

  /// Says why there are none, to whoever looks after the receiver; `nil` that there are.
  public func remark(_ text: String?) { state.withLock { $0.monitor }?.remark(on: .corrections, text) }

  // MARK: The reader's side

  func begin(_ monitor: DeviceMonitor) {
    state.withLock { $0.monitor = monitor }
    // What was still under way when it was read last.
    queue.clear()
    reading.value = true
  }

  func end() {
    reading.value = false
    queue.clear()
    state.withLock { $0.lastFix = nil }
  }

  func take(_ observation: borrowing GNSSObservation) {
    // Where nobody fetches corrections nobody asks.
    guard state.withLock({ $0.status != nil }) else { return }
    let fix = observation.fix
    state.withLock { $0.lastFix = fix }
  }
}
