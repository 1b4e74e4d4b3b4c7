import ArgumentParser
import Devices
import Glibc
import Guarding
import HardwareIO
import Hub
import Outputs
import Simulation
import SystemPackage

/// Looks for receivers and I2C chips.
struct Probe: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look for receivers and I2C chips, and say what to write into a board file.",
    discussion: """
      Listens on each serial port at the usual speeds, for up to fifteen seconds per port, and reads the identity of the \
      chip at every address of the I2C buses. Power the devices first. The command writes nothing to them except the \
      numbers of the registers that it reads.

      If the kernel's console or a login uses a port, the command says how to disable it.

      With --write the command writes a board file with the devices it has found. Comments in the file say how to wire or \
      enable the others.

      Example: sensorhub probe --write my-board.json5
      """)

  @Option(help: ArgumentHelp("Probe only this serial port; may be given again.", valueName: "path"))
  var port: [String] = []

  @Option(help: ArgumentHelp("Probe only this I2C bus; may be given again.", valueName: "path"))
  var bus: [String] = []

  @Option(
    help: ArgumentHelp(
      "Write a board file with the findings; an existing file is not changed.", valueName: "file"))
  var write: String?

  func run() throws {
    if let write, access(write, F_OK) == 0 {
      throw CommandError(.noInput, "there is a file \(write) already", nextStep: "move it away, or name another one")
    }
    // Check this first, so that the user does not wait a minute for the error.
    if let write, access(Probe.folder(of: write), W_OK) != 0 {
      throw Probe.isNotWritten(write, Errno(rawValue: errno))
    }
    let everything = port.isEmpty && bus.isEmpty
    let ports = everything ? DeviceFiles.serialPorts : port
    let buses = everything ? MachineFiles().i2cBuses : bus
    if ports.isEmpty, everything {
      Terminal.standardOutput(
        "no serial ports: plug the receiver in, or enable the UART (sudo raspi-config nonint do_serial_hw 0)"
      )
    }
    if everything, let step = MachineFiles().stepAgainstBrltty() {
      Terminal.standardOutput("a USB device has no driver; if it is the receiver or its cable, next: \(step)")
    }
    if buses.isEmpty, everything {
      Terminal.standardOutput(
        "no I2C buses: enable I2C (sudo raspi-config nonint do_i2c 0, or dtparam=i2c_arm=on in config.txt)")
    }
    var board = ProbedBoard()
    var (refusedCount, takenCount) = (0, 0)
    for path in ports {
      if let receiver = probe(port: path, &refusedCount) { board.receivers.append(receiver) }
    }
    for path in buses { board.chips += probe(bus: path, &refusedCount, &takenCount) }
    let isEmpty = board.receivers.isEmpty && board.chips.isEmpty
    if let write {
      try Probe.write(board.text, to: write)
      Terminal.standardOutput("written to \(write); next: sensorhub check \(ShellText.word(write))")
    } else if !isEmpty {
      Terminal.standardOutput("\nfor a board file (--write writes a complete one):\n  \(board.snippet)")
    }
    if isEmpty, refusedCount > 0, refusedCount == ports.count + buses.count {
      // No port or bus could be examined, so the wiring may be right.
      throw CommandError(
        .unavailable, "no port and no bus could be probed", nextStep: "see above")
    }
    if isEmpty, takenCount > 0 {
      // The wiring is right, because the kernel's drivers have found their chips.
      throw CommandError(
        .unavailable, "no device found that the kernel does not use",
        nextStep: "read the kernel's sensors with driver: \"iio\": cat /sys/bus/iio/devices/*/name lists them")
    }
    if isEmpty {
      throw CommandError(
        .unavailable, "no device found",
        nextStep: "check power and wiring; sensorhub probe --help explains how to probe one port or bus")
    }
  }

  private static func write(_ text: String, to path: String) throws {
    do {
      let file = try FileDescriptor.open(
        FilePath(path), .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
        permissions: [.ownerReadWrite, .groupRead, .otherRead])
      do {
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
      } catch {
        // Remove the file, because an incomplete board file is worse than none.
        unlink(path)
        throw error
      }
    } catch {
      throw isNotWritten(path, error)
    }
  }

  /// The folder of a file; `.` if the path has no folder.
  private static func folder(of path: String) -> String {
    let folder = FilePath(path).removingLastComponent().string
    return folder.isEmpty ? "." : folder
  }

  private static func isNotWritten(_ path: String, _ error: any Error) -> CommandError {
    CommandError(
      .inputOutput, "\(path) cannot be written: \(error)", nextStep: "--write to another folder, or without it")
  }

  /// Explains why a port or a bus could not be used. The usual next step may refer to a board file, but there is none
  /// yet.
  private func explain(_ path: String, _ error: HardwareError, seeing pattern: String) {
    let nextStep = if case .notFound = error { "list what exists: ls \(pattern)" } else { error.nextStep }
    Terminal.standardOutput("\(path): \(error.summary)\(nextStep.map { "; next: \($0)" } ?? "")")
  }

  private func probe(port path: String, _ refusedCount: inout Int) -> ProbedBoard.Receiver? {
    Terminal.standardError("listening on \(path) …")
    let machine = MachineFiles()
    // The kernel's messages and a login's echo mix with the receiver's output, which in turn disturbs the login.
    let console = SerialConsole(port: path, on: machine)
    if let console { Terminal.standardOutput("\(path): \(console); next: \(console.nextStep)") }
    let stop = StopSignal()
    var isOpen = false
    do throws(HardwareError) {
      let port = try LinuxSerialPort(path, speed: .b9600)
      isOpen = true
      // The login continues on this port, and needs the port's previous settings.
      defer { if console != nil { port.restoreSettings() } }
      let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor))
      guard let speed = try receiver.findSpeed(nil, rounds: 1, receive: { _ in }) else { return nil }
      if let device = GNSSDevice(path) {
        Terminal.standardOutput("\(path): a receiver of the kernel's \(device.type) driver")
        return ProbedBoard.Receiver(port: path)
      }
      Terminal.standardOutput("\(path): an NMEA receiver at \(speed.rawValue) baud")
      return ProbedBoard.Receiver(port: SerialPortName.lasting(for: path, on: machine), speed: speed)
    } catch {
      explain(path, error, seeing: "/dev/tty* /dev/gnss* /dev/serial/by-id")
      // Even if no sentence arrived, the port was examined.
      if !isOpen { refusedCount += 1 }
      return nil
    }
  }

  private func probe(bus path: String, _ refusedCount: inout Int, _ takenCount: inout Int) -> [ProbedBoard.Chip] {
    do throws(HardwareError) {
      let findings = try ChipProbe.find(on: try SimulatedHardware().i2cBus(path))
      for case .taken in findings { takenCount += 1 }
      if findings.isEmpty { Terminal.standardOutput("\(path): no answer") }
      return findings.compactMap { finding in
        switch finding {
        case .chip(let chip, let address):
          let place = "\(path): 0x\(String(address, radix: 16)) is \(chip.title)"
          Terminal.standardOutput(chip.driver == nil ? "\(place), \(chip.note)" : place)
          return chip.driver.map {
            ProbedBoard.Chip(kind: $0.kind, driver: $0.name, title: chip.title, bus: path, address: address)
          }
        case .unknown(let address) where address == I2CPortName.usualAddress:
          Terminal.standardOutput(
            "\(path): 0x\(String(address, radix: 16)) answers, and may be a u-blox receiver: driver: \"ublox\", "
              + "bus: \"\(path)\"")
        case .unknown(let address):
          Terminal.standardOutput("\(path): 0x\(String(address, radix: 16)) answers, but is not a known chip")
        case .taken(let address, let driver):
          Terminal.standardOutput(
            "\(path): 0x\(String(address, radix: 16)) is used by the kernel's driver\(driver.map { " '\($0)'" } ?? ""); "
              + "if it is a sensor, driver: \"iio\" may be able to read it")
        }
        return nil
      }
    } catch {
      explain(path, error, seeing: "/dev/i2c-*")
      refusedCount += 1
      return []
    }
  }
}

/// The device files at which receivers may be found.
enum DeviceFiles {
  static var serialPorts: [String] {
    // A PC has about sixteen ttyS entries without hardware, which are left out.
    files(withPrefixes: ["ttyAMA", "ttyUSB", "ttyACM", "gnss"])
      + files(withPrefixes: ["ttyS"]).filter { isRealPort($0) }
  }

  private static func files(withPrefixes prefixes: [String]) -> [String] {
    Files.names(in: "/dev").filter { name in prefixes.contains { name.hasPrefix($0) } }.map { "/dev/\($0)" }
  }

  /// Whether a port has hardware. The kernel reports the type 0 for a port without hardware.
  private static func isRealPort(_ path: String) -> Bool {
    let name = path.split(separator: "/").last ?? ""
    guard let type = try? Files.bytes(of: "/sys/class/tty/\(name)/type").first else { return false }
    return type != UInt8(ascii: "0")
  }
}
