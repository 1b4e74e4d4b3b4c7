import HardwareIO

/// The hub as a service of this machine: whether it is installed, and how a person starts it.
public struct InstalledService: Sendable {
  public static let boardFile = "/etc/sensorhub/board.json5"
  private static let units = ["/etc", "/usr/lib", "/lib"].map { "\($0)/systemd/system/sensorhub.service" }

  private let machine: MachineFiles

  public init(on machine: MachineFiles = MachineFiles()) { self.machine = machine }

  /// What there is of it: its board file, or else its unit; `nil` if neither is here.
  public var trace: String? { ([InstalledService.boardFile] + InstalledService.units).first(where: machine.has) }

  /// What to do where no hub answers. Never a hub on simulated devices: a board would seem to measure.
  public var start: String {
    trace == nil
      ? "start one: sensorhub run --board FILE; sensorhub probe --write FILE makes a board file for the connected devices"
      : "sudo systemctl start sensorhub; journalctl -u sensorhub -n 20 says why it does not run"
  }

  /// The reason why a hub is not started without a board file, with the next step; `nil` if it may be.
  public var refusalOfSimulation: (message: String, nextStep: String)? {
    trace.map { trace in
      (
        "this machine has a hub of its own (\(trace)), and without --board there would be one on simulated devices",
        "sudo systemctl start sensorhub; or --simulated for the simulated devices"
      )
    }
  }
}
