import Devices
import Guarding
import HardwareIO
import NMEA
import Publishing

/// The corrections for a receiver while it is read. This type connects the reader and the source of corrections.
public final class ReceiverCorrections: Sendable {
  private struct State {
    var lastFix: GNSSFix?
    /// The monitor; `nil` before the receiver was first read.
    var monitor: DeviceMonitor?
  }

  /// The queue of corrections that are written to the receiver.
  public let queue = CorrectionQueue()
  private let state = Guarded(State())
  private let reading = MutableProperty(false)
  private let noted = MutableProperty<CorrectionStatus?>(nil)

  init() {}

  /// Whether the receiver is read and accepts corrections at present. It changes on the reader's thread, so a
  /// subscriber must not wait.
  public var isWanted: Property<Bool> { reading.readOnly }

  /// The last fix while the receiver is read; `nil` before the first.
  public var lastFix: GNSSFix? { state.withLock { $0.lastFix } }

  /// The present state; `nil` if no corrections are fetched.
  public var status: CorrectionStatus? {
    var status = noted.value
    status?.lost = queue.lostCount
    status?.outcomes = queue.outcomes
    return status
  }

  /// The state at each report of the source; `nil` if no corrections are fetched. `status` also has the receiver's
  /// reports.
  public var changes: Property<CorrectionStatus?> { noted.readOnly }

  /// Sets the state; `nil` if no corrections are fetched.
  public func note(_ status: CorrectionStatus?) { noted.value = status }

  /// Sets the state under the caller's lock, like `MutableProperty.stage`.
  ///
  /// - Returns: whether the caller must call `deliver` after it has released the lock
  public func stage(_ status: CorrectionStatus?) -> Bool { noted.stage(status) }

  public func deliver() { noted.deliver() }

  /// Warns the receiver's owner that corrections are missing, with the reason; `nil` if there are corrections.
  public func setWarning(_ text: String?) { if stageWarning(text) { deliverWarning() } }

  /// Sets the warning under the caller's lock, like `MutableProperty.stage`.
  ///
  /// - Returns: whether the caller must call `deliverWarning` after it has released the lock
  public func stageWarning(_ text: String?) -> Bool {
    state.withLock { $0.monitor }?.stageWarning(about: .corrections, text) ?? false
  }

  public func deliverWarning() { state.withLock { $0.monitor }?.deliver() }

  // MARK: The reader's side

  func begin(_ monitor: DeviceMonitor) {
    state.withLock { $0.monitor = monitor }
    // Discard corrections that were still queued when the receiver was last read.
    queue.clear()
    reading.value = true
  }

  func end() {
    reading.value = false
    queue.clear()
    state.withLock { $0.lastFix = nil }
  }

  /// Accepts corrections while `body` reads the receiver.
  func fetched(
    for monitor: DeviceMonitor, while body: () throws(HardwareError) -> Bool
  ) throws(HardwareError) -> Bool {
    begin(monitor)
    defer { end() }
    return try body()
  }

  func take(_ observation: borrowing GNSSObservation) {
    // Without a source of corrections, there is nothing to report.
    guard noted.value != nil else { return }
    let fix = observation.fix
    state.withLock { $0.lastFix = fix }
  }
}
