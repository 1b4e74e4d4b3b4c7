import HardwareIO
import Publishing

/// Hands on what was recorded as it is.
final class ReplayedSamples<Sample: Sendable>: ReplayRun {
  private let monitor: DeviceMonitor
  private let run: Activating<Sample, HardwareError>
  private let count: @Sendable (Sample) -> Void
  private let port: ReplayPort<Sample>

  /// - Parameter count: told of each sample
  init(
    _ monitor: DeviceMonitor, _ run: Activating<Sample, HardwareError>, from port: ReplayPort<Sample>,
    counting count: @escaping @Sendable (Sample) -> Void
  ) {
    self.monitor = monitor
    self.run = run
    self.count = count
    self.port = port
  }

  func take(_ sample: Sample) {
    count(sample)
    monitor.tracking()
    if port.isHeld { run.send(sample) }
  }

  func end() {}
}
