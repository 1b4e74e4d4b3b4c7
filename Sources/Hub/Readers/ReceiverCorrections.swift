import Devices
import Guarding
import NMEA
import Publishing

/// The corrections for a receiver while it is read: between its reader and their source.
public final class ReceiverCorrections: Sendable {
  private struct State {
    var status: CorrectionStatus?
    var lastFix: GNSSFix?
    /// Since it was read first.
    var monitor: DeviceMonitor?
  }

  /// Corrections added here are written to the receiver.
  public let queue = CorrectionQueue()
  private let state = Guarded(State())
  private let reading = MutableProperty(false)

  init() {}

  /// Whether the receiver is read at present, and takes corrections. Reported on its reader's thread, which must not
  /// wait.
  public var isWanted: Property<Bool> { reading.readOnly }

  /// Its last fix while it is read; `nil` before the first.
  public var lastFix: GNSSFix? { state.withLock { $0.lastFix } }

  /// The present state; `nil` if no corrections are fetched.
  public var status: CorrectionStatus? {
    let (lost, outcomes) = (queue.lostCount, queue.outcomes)
    return state.withLock { state in
      state.status?.lost = lost
      state.status?.outcomes = outcomes
      return state.status
    }
  }

  /// Notes the state, or that no corrections are fetched.
  public func note(_ status: CorrectionStatus?) { state.withLock { $0.status = status } }

  /// The reason for missing corrections, for the owner of the receiver; `nil` if there are corrections.
  public func remark(_ text: String?) { state.withLock { $0.monitor }?.remark(on: .corrections, text) }

  // MARK: The reader's side

  func begin(_ monitor: DeviceMonitor) {
    state.withLock { $0.monitor = monitor }
    // The corrections that were on their way when it was last read.
    queue.clear()
    reading.value = true
  }

  func end() {
    reading.value = false
    queue.clear()
    state.withLock { $0.lastFix = nil }
  }

  func take(_ observation: borrowing GNSSObservation) {
    // Without a source of corrections nothing is reported.
    guard state.withLock({ $0.status != nil }) else { return }
    let fix = observation.fix
    state.withLock { $0.lastFix = fix }
  }
}
