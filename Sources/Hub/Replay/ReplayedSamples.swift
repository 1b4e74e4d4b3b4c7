import HardwareIO
import Publishing

/// Passes on recorded samples unchanged. Each sample had a subscriber when it was recorded, even if the next record
/// says that the last subscriber left.
final class ReplayedSamples<Sample: Sendable>: ReplayRun {
  private let monitor: DeviceMonitor
  private let run: ActivationContext<Sample, HardwareError>
  private let count: @Sendable (Sample) -> Void

  /// - Parameter count: called for each sample
  init(
    _ monitor: DeviceMonitor, _ run: ActivationContext<Sample, HardwareError>,
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
