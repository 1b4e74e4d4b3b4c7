import Hub

/// Keeps since when supplies are off in a file, so that their least times off hold over a restart of the hub.
public final class SupplyTimesFile: Sendable {
  private let file: StateFile<SupplyTimes?>

  /// - Parameters:
  ///   - path: the file that it is kept in
  ///   - makeFolder: makes its folder if there is none
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: nil, makeFolder: makeFolder)
  }

  /// Takes over the file of the previous hub, and notes that this one runs. Waits for the disk.
  public func begin(_ machine: Machine) {
    if let before = file.content { machine.restore(before) }
    file.change { $0 = SupplyTimes(at: machine.clock.now, isRunning: true) }
  }

  /// Once all devices are off. Waits for the disk.
  public func end(_ machine: Machine) { file.change { $0 = machine.supplyTimes } }
}
