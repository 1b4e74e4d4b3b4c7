import ArgumentParser
import CLinux
import Devices
import HardwareIO
import Guarding

/// Looks for devices.
struct Probe: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look for receivers and I2C chips, and say what to write into a board file.",
    discussion: """
      Listens on each serial port at the usual speeds, up to fifteen seconds a port, and asks the I2C addresses of known
      chips who they are. Devices have to be powered. Nothing is written except the register numbers that are asked for.

      Example: sensorhub probe
      """)

  @Option(help: ArgumentHelp("Look at this serial port only; may be given again.", valueName: "path"))
  var port: [String] = []

  @Option(help: ArgumentHelp("Look at this I2C bus only; may be given again.", valueName: "path"))
  var bus: [String] = []

  func run() throws {
    let everything = port.isEmpty && bus.isEmpty
    let ports = everything ? DeviceFiles.serialPorts : port
    let buses = everything ? DeviceFiles.i2cBuses : bus
    if ports.isEmpty, everything {
      Terminal.standardOutput("no serial ports: is the UART enabled, or the receiver plugged in?")
    }
    if buses.isEmpty, everything {
      Terminal.standardOutput("no I2C buses: enable I2C (raspi-config, or dtparam=i2c_arm=on)")
    }
    var found = 0
    for path in ports { found += probe(port: path) ? 1 : 0 }
    for path in buses { found += probe(bus: path) }
    guard found > 0 else {
      throw CommandError(
        .unavailable, "no device found", nextStep: "check power and wiring; or try the simulated board: sensorhub run")
    }
  }

  private func probe(port path: String) -> Bool {
    Terminal.standardError("listening on \(path) …")
    let stop = StopSignal()
    do throws(HardwareError) {
      let port = try LinuxSerialPort(path, speed: .b9600)
      let receiver = NMEAReceiver(port: port, poller: Poller(stop: stop.fileDescriptor))
      guard let speed = try receiver.findSpeed(nil, rounds: 1, receive: { _ in }) else { return false }
      Terminal.standardOutput(
        "\(path): an NMEA receiver at \(speed.rawValue) baud\n  gps: { driver: \"nmea\", port: \"\(path)\", speed: \(speed.rawValue) },"
      )
      return true
    } catch {
      Terminal.standardOutput("\(path): \(error)")
      return false
    }
  }

  private func probe(bus path: String) -> Int {
    var found = 0
    do throws(HardwareError) {
      let bus = try LinuxI2CBus(path)
      for chip in KnownChip.all {
        for address in chip.addresses {
          let registers = I2CRegisters(bus, address: address, capacity: 1)
          guard let id = try? registers.read(chip.identity.register), chip.identity.values.contains(id) else {
            continue
          }
          found += 1
          let place = "0x\(String(address, radix: 16)) on \(path)"
          if let name = chip.boardName {
            Terminal.standardOutput(
              "\(place): \(chip.name)\n  imu: { driver: \"\(name)\", bus: \"\(path)\", address: 0x\(String(address, radix: 16)) },"
            )
          } else {
            Terminal.standardOutput("\(place): \(chip.name), which the hub cannot read yet")
          }
        }
      }
      if found == 0 { Terminal.standardOutput("\(path): none of the known chips") }
    } catch {
      Terminal.standardOutput("\(path): \(error)")
    }
    return found
  }
}
