import MonotonicTime

/// A timer of the kernel's that has sensors measured at a rate, for chips whose own interrupt line is not connected. It is
/// there as long as this value.
///
/// Traps: the kernel's module for it is not loaded by itself; its files in sysfs are root's until udev has had its turn.
public final class IIOTimerTrigger {
  private static let longestWait = Duration.milliseconds(500)
  private static let interval = Duration.milliseconds(20)

  public let name: String
  private let files: any IIOFiles
  /// In configfs; `nil` once it is gone.
  private var folder: String?

  /// - Parameters:
  ///   - name: a unique name; an existing trigger of that name was left by a killed hub
  ///   - pause: waits on the calling thread, for the trigger to appear
  public init(
    _ name: String, hertz: Double, in system: IIOSystem, pause: (Duration) -> Void
  ) throws(HardwareError) {
    self.name = name
    files = system.files
    guard files.has(system.timers) else {
      throw .unsupported(
        "the kernel has no timers for IIO (\(system.timers) is missing): sudo modprobe iio-trig-hrtimer, and its name in "
          + "/etc/modules-load.d for the next start")
    }
    let folder = "\(system.timers)/\(name)"
    do throws(HardwareError) {
      try files.makeFolder(folder)
    } catch .inUse {
      // A killed hub left it.
    }
    self.folder = folder
    do throws(HardwareError) {
      try setRate(hertz, in: system, pause: pause)
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  /// Removes it. It must not be in use.
  public func close() {
    guard let folder else { return }
    self.folder = nil
    try? files.removeFolder(folder)
  }

  private func setRate(
    _ hertz: Double, in system: IIOSystem, pause: (Duration) -> Void
  ) throws(HardwareError) {
    // It has three decimals.
    let text = IIOChoices.exactly((hertz * 1000).rounded() / 1000).text
    var waited = Duration.zero
    while true {
      let isLast = waited >= IIOTimerTrigger.longestWait
      if let trigger = system.triggers.first(where: { $0.name == name }) {
        do throws(HardwareError) {
          return try files.write(text, to: "\(trigger.folder)/sampling_frequency")
        } catch .noPermission where !isLast {
          // Not this user's yet.
        }
      } else if isLast {
        throw .timedOut("IIO's timer '\(name)'")
      }
      pause(IIOTimerTrigger.interval)
      waited += IIOTimerTrigger.interval
    }
  }
}
