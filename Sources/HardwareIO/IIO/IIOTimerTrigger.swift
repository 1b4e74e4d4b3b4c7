import MonotonicTime

/// A kernel timer that triggers scans at a fixed rate, for chips whose own interrupt line is not connected. The timer
/// exists as long as this value.
///
/// The kernel has two pitfalls. Its module for timer triggers is not loaded automatically, and a new trigger's files in
/// sysfs belong to root until udev has changed their owner.
public final class IIOTimerTrigger {
  private static let longestWait = Duration.milliseconds(500)
  private static let interval = Duration.milliseconds(20)

  public let name: String
  private let files: any IIOFiles
  /// The timer's folder in configfs; `nil` after it is removed.
  private var folder: String?

  /// - Parameters:
  ///   - name: a unique name. An existing trigger of that name is a leftover of a killed hub
  ///   - pause: blocks the calling thread for a duration. It is called while the new trigger, or permission to write
  ///     its rate, is missing
  public init(
    _ name: String, hertz: Double, in system: IIOSystem, pause: (Duration) -> Void
  ) throws(HardwareError) {
    self.name = name
    files = system.files
    if let problem = IIOTimerTrigger.problem(in: system) { throw problem }
    let folder = "\(system.timers)/\(name)"
    do throws(HardwareError) {
      try files.makeFolder(folder)
    } catch .inUse {
      // A killed hub left this trigger. Use it.
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

  /// The error if the kernel's module for timer triggers is not loaded; `nil` if it is. The message has the commands
  /// that load the module, now and at each start, and give the hub's account access to its folder.
  public static func problem(in system: IIOSystem) -> HardwareError? {
    if system.files.has(system.timers) { return nil }
    return .unsupported(
      "the kernel has no timers for IIO (\(system.timers) is missing): "
        + "echo iio-trig-hrtimer | sudo tee /etc/modules-load.d/iio-trig-hrtimer.conf "
        + "&& sudo modprobe iio-trig-hrtimer && sudo systemd-tmpfiles --create")
  }

  /// Removes the trigger, which must not be in use.
  public func close() {
    guard let folder else { return }
    self.folder = nil
    try? files.removeFolder(folder)
  }

  private func setRate(
    _ hertz: Double, in system: IIOSystem, pause: (Duration) -> Void
  ) throws(HardwareError) {
    // The kernel's file takes hertz with three decimals.
    let text = IIOChoices.exactly((hertz * 1000).rounded() / 1000).text
    var waited = Duration.zero
    while true {
      let isLast = waited >= IIOTimerTrigger.longestWait
      if let trigger = system.triggers.first(where: { $0.name == name }) {
        do throws(HardwareError) {
          return try files.write(text, to: "\(trigger.folder)/sampling_frequency")
        } catch .noPermission where !isLast {
          // The file does not belong to this user yet.
        }
      } else if isLast {
        throw .timedOut("IIO's timer '\(name)'")
      }
      pause(IIOTimerTrigger.interval)
      waited += IIOTimerTrigger.interval
    }
  }
}
