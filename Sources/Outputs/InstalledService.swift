import CLinux
import CSystemd
import Glibc
import HardwareIO

/// The hub as a service of this machine: whether it is installed, and how to start it.
public struct InstalledService: Sendable {
  public static let boardFile = "/etc/sensorhub/board.json5"
  private static let units = ["/etc", "/usr/local/lib", "/usr/lib", "/lib"].map {
    "\($0)/systemd/system/sensorhub.service"
  }

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

/// The files that the service may read although the user of this program may not, such as its passwords.
public enum ServiceFiles {
  /// Whether the service can read a file that this user may not read. If this user may not search the file's folder,
  /// the result assumes that the service can read the file. Always `false` for the service itself, and on a machine
  /// without the service.
  public static func isForServiceAlone(_ file: String) -> Bool {
    guard let service = Accounts.serviceUser, service != geteuid(), access(file, R_OK) != 0, errno == EACCES else {
      return false
    }
    var status = stat()
    guard stat(file, &status) == 0 else { return errno == EACCES }
    return may(service, inGroups: Accounts.groups(ofUser: service), read: status)
  }

  /// Whether an account may read a file, by the file's owner, group and mode.
  static func may(_ user: UInt32, inGroups groups: [UInt32], read status: stat) -> Bool {
    if status.st_uid == user { return status.st_mode & S_IRUSR != 0 }
    return status.st_mode & (groups.contains(status.st_gid) ? S_IRGRP : S_IROTH) != 0
  }
}

/// Reports the state of the service to systemd. Without systemd it does nothing.
public enum ServiceManager {
  public static func ready(status: String) { notify("READY=1\nSTATUS=\(status)") }
  public static func reloading() { notify("RELOADING=1") }
  public static func stopping() { notify("STOPPING=1\nSTATUS=powering off") }
  public static func watchdogPing() { notify("WATCHDOG=1") }

  /// The interval of pings, half of systemd's limit; `nil` if systemd has no limit.
  public static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0, microseconds > 0 else { return nil }
    return .microseconds(Int64(microseconds / 2))
  }

  private static func notify(_ state: String) { _ = sd_notify(0, state) }
}
