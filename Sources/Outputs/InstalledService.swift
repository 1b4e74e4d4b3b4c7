import HardwareIO

/// The hub as a service of this machine: whether it is installed, and how to start it.
public struct InstalledService: Sendable {
  public static let boardFile = "/etc/sensorhub/board.json5"
  private static let units = ["/etc", "/usr/lib", "/lib"].map { "\($0)/systemd/system/sensorhub.service" }

  private let machine: MachineFiles

  public init(on machine: MachineFiles = MachineFiles()) { self.machine = machine }

  /// The file that shows that the service is installed: its board file, or else its unit; `nil` if neither exists.
  public var trace: String? { ([InstalledService.boardFile] + InstalledService.units).first(where: machine.has) }

  /// The next step if no hub answers. It never suggests simulated devices, because their values would seem to be
  /// measured.
  public var start: String {
    trace == nil
      ? "start one: sensorhub run --board FILE; sensorhub probe --write FILE writes a board file for the connected devices"
      : "sudo systemctl start sensorhub; journalctl -u sensorhub -n 20 shows why it does not run"
  }

  /// The reason why a hub does not start without a board file, with the next step; `nil` if it may start.
  public var refusalOfSimulation: (message: String, nextStep: String)? {
    trace.map { trace in
      (
        "this machine has an installed hub (\(trace)), and without --board this command would start one on simulated devices",
        "sudo systemctl start sensorhub; or give --simulated for simulated devices"
      )
    }
  }
}
