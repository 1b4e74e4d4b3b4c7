import Devices
import Guarding
import HardwareIO
import MonotonicTime

/// Records whether one device works: its failure since the first failed attempt, and the reason why a receiver has no
/// fix.
///
/// The reader's thread reports events. A report takes one lock, under which nothing else is called. Conclusions are
/// drawn only on request.
public final class DeviceHealth: Sendable {
  private struct Failure {
    /// The time of the first failed attempt since the device last worked.
    var since: MonotonicInstant
    var error: HardwareError
  }

  private struct Line {
    var port: String
    /// Whether the board file gives the only speed at which the hub listens.
    var isSpeedFixed: Bool
    /// The time between two reports of the receiver, at least a second.
    var reportInterval: Duration

    var newSearch: FixSearch { FixSearch(reportInterval: reportInterval) }
  }

  private struct State {
    /// The time since which a client has waited for a useful value of the device; `nil` while the device works or no
    /// client needs it.
    var wantedSince: MonotonicInstant?
    /// Whether the line or the bus is open.
    var isOpen = false
    var failure: Failure?
    var isSimulated = false
    /// The search for a fix and the line; `nil` for a device that is not a receiver.
    var search: (search: FixSearch, line: Line)?
  }

  /// If the first measurement of a chip takes longer than this, the condition becomes a warning.
  private static let chipPatience = Duration.seconds(10)
  /// If the first fix takes longer than this, the owner is told to check the receiver.
  private static let fixPatience = Duration.seconds(60)
  /// A line without useful data for this time counts as broken.
  private static let linePatience = Duration.seconds(10)

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())

  init(clock: any MonotonicTimeSource) { self.clock = clock }

  // MARK: Events

  /// Records that the device is a receiver, and the port of its line.
  ///
  /// - Parameters:
  ///   - isSpeedFixed: whether the board file gives the only speed at which the hub listens
  ///   - reportInterval: the time between two reports of the receiver, at least a second
  func listens(on port: String, isSpeedFixed: Bool, reportInterval: Duration = .seconds(1)) {
    let line = Line(port: port, isSpeedFixed: isSpeedFixed, reportInterval: reportInterval)
    state.withLock { $0.search = (line.newSearch, line) }
  }

  /// Records whether the device is simulated, live or in a recording.
  func isSimulated(_ isSimulated: Bool) { state.withLock { $0.isSimulated = isSimulated } }

  var isSimulated: Bool { state.withLock { $0.isSimulated } }

  /// Records that a client needs the device.
  func required() {
    let now = clock.now
    state.withLock { $0.wantedSince = $0.wantedSince ?? now }
  }

  /// Records that the device is open and has no useful data, or no longer has any.
  func acquiring() {
    let now = clock.now
    state.withLock { state in
      state.wantedSince = state.wantedSince ?? now
      state.isOpen = true
      state.search?.search.opened(at: now)
    }
  }

  /// Records the counts of the receiver's output while it has no fix.
  func read(_ counters: ReceiverDecoder.Counters) {
    let now = clock.now
    state.withLock { $0.search?.search.read(counters, at: now) }
  }

  /// Records an epoch without a fix. A line that brings epochs works, so an earlier failure of it is over.
  func heard(_ observation: borrowing GNSSObservation) {
    let observation = copy observation
    state.withLock { state in
      state.failure = nil
      state.search?.search.take(observation)
    }
  }

  /// Records that the device measures.
  func tracking() {
    state.withLock { state in
      state.wantedSince = nil
      state.failure = nil
      if let line = state.search?.line { state.search = (line.newSearch, line) }
    }
  }

  /// Records that a run of the reader has failed.
  func failed(_ error: HardwareError) {
    let now = clock.now
    state.withLock { state in
      // The failure of a line begins with its last useful byte, so that the reported duration does not jump when an
      // attempt fails.
      let finding = state.search.flatMap { $0.search.finding(at: now, isSpeedFixed: $0.line.isSpeedFixed) }
      let trouble = finding?.lineTrouble ?? .zero
      let since = state.failure?.since ?? now.advanced(by: .zero - trouble)
      state.failure = Failure(since: since, error: error)
    }
  }

  /// Performs a part of a run, and records its failure, if any.
  func noting<Result>(_ part: () throws(HardwareError) -> Result) throws(HardwareError) -> Result {
    do throws(HardwareError) {
      return try part()
    } catch {
      failed(error)
      throw error
    }
  }

  /// Records that a run of the reader is over. A failure remains known until the device works again.
  func released() {
    state.withLock { state in
      state.isOpen = false
      guard state.failure == nil else { return }
      state.wantedSince = nil
      if let line = state.search?.line { state.search = (line.newSearch, line) }
    }
  }

  /// Adds the time of a suspension to the duration of a failure. The time for which clients have waited stays the
  /// same, because no client waits while the machine is suspended.
  func goBack(by slept: Duration) { state.withLock { $0.failure?.since.moveBack(by: slept) } }

  // MARK: Conclusions

  /// The device's problem at an instant; `nil` if it works or rests.
  func condition(at now: MonotonicInstant) -> DeviceCondition? {
    state.withLock { state in
      let finding = state.search.flatMap { search in
        search.search.finding(at: now, isSpeedFixed: search.line.isSpeedFixed).map { ($0, search.line) }
      }
      if let failure = state.failure { return DeviceHealth.failed(failure, finding) }
      guard state.isOpen, let since = state.wantedSince else { return nil }
      let time = now - since
      guard let (finding, line) = finding else {
        return DeviceCondition(
          .acquiring, time < DeviceHealth.chipPatience ? .waiting : .warning, "no valid measurements yet",
          since: since)
      }
      let severity: DeviceCondition.Severity =
        if finding.isOfLine {
          time < DeviceHealth.linePatience ? .warning : .problem
        } else {
          time < DeviceHealth.fixPatience ? .waiting : .warning
        }
      return DeviceCondition(
        .acquiring, severity, finding.summary(on: line.port),
        nextStep: finding.nextStep(on: line.port, isSpeedFixed: line.isSpeedFixed), since: since)
    }
  }

  private static func failed(
    _ failure: Failure, _ present: (finding: FixSearch.Finding, line: Line)?
  ) -> DeviceCondition {
    // The finding of the attempt in progress is newer than the error of the failed one.
    let isOfLine =
      switch failure.error {
      case .unheard, .unexpectedDevice, .timedOut: true
      default: false
      }
    if isOfLine, let present, present.finding.isOfLine {
      return DeviceCondition(
        .failed, .problem, present.finding.summary(on: present.line.port),
        nextStep: present.finding.nextStep(on: present.line.port, isSpeedFixed: present.line.isSpeedFixed),
        since: failure.since)
    }
    return DeviceCondition(
      .failed, .problem, failure.error.summary, nextStep: failure.error.nextStep, since: failure.since)
  }
}
