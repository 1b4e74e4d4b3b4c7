import Hub

/// Keeps the instants at which supplies were switched off in a file, so that minimum off times also hold after a
/// restart of the hub.
public final class SupplyTimesFile: Sendable {
  private let file: StateFile<SupplyTimes?>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes its folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: nil, makeFolder: makeFolder)
  }

  /// Reads the file of the previous run. Waits for the disk.
  public func restore(to machine: Machine) {
    if let before = file.content { machine.restore(before) }
  }

  /// Stores that the hub runs now. Waits for the disk.
  public func begin(_ machine: Machine) {
    file.change { $0 = SupplyTimes(at: machine.clock.now, isRunning: true) }
  }

  /// Saves the times after all devices are off. Waits for the disk.
  public func end(_ machine: Machine) { file.change { $0 = machine.supplyTimes } }
}
