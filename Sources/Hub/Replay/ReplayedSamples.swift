import HardwareIO
import Publishing

/// Hands on what was recorded as it is: all that is recorded was heard by somebody, also where the next thing that was recorded is
/// that nobody listened any more.
final class ReplayedSamples<Sample: Sendable>: ReplayRun {
  private let monitor: DeviceMonitor
  private let run: Activating<Sample, HardwareError>
  private let count: @Sendable (Sample) -> Void

  /// - Parameter count: told of each sample
  init(
    _ monitor: DeviceMonitor, _ run: Activating<Sample, HardwareError>,
    counting count: @escaping @Sendable (Sample) -> Void
  ) {
    self.monitor = monitor
    self.run = run
    self.count = count
  }

  func take(_ sample: Sample) {
    count(sample)
    monitor.tracking()
    run.send(sample)
  }

  func end() {}
}
