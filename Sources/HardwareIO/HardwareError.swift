import CLinux
import Glibc

/// A failure between the hub and a device. The description is for the user who has to fix it.
public enum HardwareError: Error, Equatable, Sendable {
  /// The bus, port, chip or line does not exist.
  case notFound(String, Missing = .name)
  case noPermission(String, group: String)
  /// Another program or the kernel uses the device. `shownBy` is the command that shows which one.
  case inUse(String, holder: String?, shownBy: String? = nil)
  /// A login uses the serial line, or has used it since the system started.
  case terminal(String)
  /// The device was present and has disappeared.
  case disconnected(String)
  /// No chip answers at the address.
  case noAcknowledge(bus: String, address: UInt8)
  /// Another controller on the bus was sending at the same time. The transaction can be repeated.
  case arbitrationLost(bus: String, address: UInt8)
  case timedOut(String)
  /// A call to the kernel does not return.
  case stuck(String)
  /// The machine was suspended, so earlier readings are out of date.
  case suspended
  /// A kernel driver uses the address.
  case busy(bus: String, address: UInt8, driver: String?)
  /// A device answers, but it is not the expected one or does not behave like it.
  case unexpectedDevice(String)
  /// The receiver's line carries no intelligible data.
  case unheard(String, nextStep: String)
  case unsupported(String)
  /// The system reported some other error.
  case system(String, errno: Int32)
}

extension HardwareError {
  /// The kind of thing that does not exist. The next step for the user depends on it.
  public enum Missing: Equatable, Sendable {
    case name
    /// A port that appears when a cable is plugged in.
    case pluggedPort(String)
    /// A port that is built into the board.
    case headerPort
    /// A receiver with a driver in the kernel.
    case kernelReceiver
    case i2cBus
    case gpio
    case canInterface

    public init(port path: String) {
      let isPlugged = ["/dev/ttyUSB", "/dev/ttyACM", "/dev/serial/", "/dev/sensorhub/"].contains(where: path.hasPrefix)
      self = GNSSDevice.isMeant(by: path) ? .kernelReceiver : isPlugged ? .pluggedPort(path) : .headerPort
    }

    func nextStep(on machine: MachineFiles) -> String {
      let isPi = machine.hasRaspiConfig
      switch self {
      case .name: return "check the board file's name for it"
      case .pluggedPort(let port):
        let plugging =
          "plug the receiver in (dmesg shows it), or correct 'port' in the board file: sensorhub probe lists the "
          + "existing ports"
        return machine.stepAgainstBrltty(port: port).map { "\(plugging); if it is plugged in, \($0)" } ?? plugging
      case .headerPort:
        let enabling =
          isPi
          ? "enable the port: sudo raspi-config nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0, "
            + "and restart the board" : "enable the port in the board's device tree"
        return "\(enabling); or correct 'port' in the board file: sensorhub probe lists the existing ports"
      case .kernelReceiver:
        return "describe the receiver in the board's device tree, or correct 'port' in the board file: ls /dev/gnss* "
          + "lists the existing ones"
      case .i2cBus:
        let enabling =
          if isPi {
            "enable I2C: sudo raspi-config nonint do_i2c 0"
          } else if machine.has("/proc/device-tree") {
            "enable I2C in the board's device tree, and load its driver: sudo modprobe i2c-dev"
          } else {
            "load the driver for I2C buses: sudo modprobe i2c-dev"
          }
        return "\(enabling); or correct 'bus' in the board file: ls /dev/i2c-* lists the existing buses"
      case .canInterface:
        return "enable the CAN controller in the board's device tree, or correct 'interface' in the board file: "
          + "ip link lists the interfaces"
      case .gpio: return "correct 'chip' and 'line' in the board file: gpioinfo lists the lines"
      }
    }
  }
}

extension HardwareError: CustomStringConvertible {
  public var description: String {
    guard let nextStep else { return summary }
    return "\(summary); \(nextStep)"
  }

  public var summary: String {
    switch self {
    case .notFound(let what, _): "there is no \(what)"
    case .noPermission(let what, _): "no permission to open \(what)"
    case .inUse(let what, let holder, _): "\(what) is in use\(holder.map { " by \($0)" } ?? "")"
    case .terminal(let path): "serial port \(path) is the terminal of a login, or was one after the system started"
    case .disconnected(let what): "\(what) has gone away"
    case .noAcknowledge(let bus, let address): "no answer from address \(hex(address)) on \(bus)"
    case .arbitrationLost(let bus, let address): "lost arbitration to another controller at \(hex(address)) on \(bus)"
    case .timedOut(let what): "\(what) did not answer in time"
    case .stuck(let what): "\(what) hangs in a call that does not return"
    case .suspended: "the machine was suspended, so the hub restarts the device"
    case .busy(let bus, let address, let driver):
      "the kernel's driver\(driver.map { " '\($0)'" } ?? "") uses address \(hex(address)) on \(bus)"
    case .unexpectedDevice(let what): what
    case .unheard(let what, _): what
    case .unsupported(let what): what
    case .system(let what, let errno): "\(what): \(String(cString: strerror(errno)))"
    }
  }

  /// The next step for the user, if known.
  public var nextStep: String? {
    switch self {
    case .notFound(_, let missing): missing.nextStep(on: MachineFiles())
    case .noPermission(_, let group):
      Accounts.number(ofGroup: group) == nil
        ? HardwareError.creating(group) : HardwareError.joining(group, as: Accounts.name(ofUser: geteuid()))
    case .inUse(_, .some, _): "stop it first"
    case .inUse(_, nil, let command): command.map { "find the program that uses it, and stop it: \($0)" }
    case .terminal(let path):
      "disable the serial console: on Raspberry Pi OS sudo raspi-config nonint do_serial_cons 1 && sudo raspi-config "
        + "nonint do_serial_hw 0, on other systems sudo systemctl mask --now "
        + "serial-getty@\(path.split(separator: "/").last ?? "").service; then restart the board"
    case .unheard(_, let nextStep): nextStep
    case .disconnected(let what) where NetworkSource.isMeant(by: what):
      "check that the program there runs, and that it admits this machine"
    case .disconnected(let what) where ModemPortName.isMeant(by: what): "systemctl status ModemManager; mmcli -L"
    case .disconnected(let what) where what.hasPrefix("/sys/"): "dmesg shows why the kernel's driver let it go"
    case .disconnected: "check the cable"
    case .noAcknowledge(let bus, _): "check wiring, power and address: sensorhub probe --bus \(bus)"
    case .stuck: "read the kernel's log (dmesg); if the problem persists, restart the board"
    case .busy:
      "read a sensor through the kernel's driver (driver: \"iio\"), or unbind the driver, or remove its "
        + "overlay from config.txt"
    case .arbitrationLost, .timedOut, .suspended, .unexpectedDevice, .unsupported, .system: nil
    }
  }

  /// The next step for an account that is not in the device's group.
  static func joining(_ group: String, as account: String?) -> String {
    let after = account == Accounts.service ? "restart the hub: sudo systemctl restart sensorhub" : "log in again"
    return "add the user to the group \(group): sudo usermod -aG \(group) \(account ?? "$USER"), then \(after)"
  }

  /// The next step on a machine that lacks the device's group, so that only root may open the device.
  static func creating(_ group: String) -> String {
    "install SensorHub's package (make deb): this machine has no group \(group), and the package creates it and gives it "
      + "the device"
  }

  private func hex(_ value: UInt8) -> String { "0x" + String(value, radix: 16) }
}

extension HardwareError {
  /// Makes the error for a failure to open a device at a path.
  static func opening(
    _ what: String, _ errno: Int32, group: String, missing: Missing = .name
  ) -> HardwareError {
    switch errno {
    case ENOENT, ENODEV, ENXIO: .notFound(what, missing)
    case EACCES, EPERM: .noPermission(what, group: group)
    case EBUSY: .inUse(what, holder: nil, shownBy: missing == .gpio ? "gpioinfo" : nil)
    default: .system("opening \(what)", errno: errno)
    }
  }
}
