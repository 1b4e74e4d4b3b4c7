import Devices
import Glibc
import HardwareIO

/// The board file that `probe` makes from the devices it has found.
struct ProbedBoard {
  struct Receiver {
    /// The port, under a name that does not change.
    var port: String
    /// The speed of the line; `nil` for a port without a speed.
    var speed: BaudRate?
  }

  struct Chip {
    var kind: ChipKind
    var driver: String
    var title: String
    var bus: String
    var address: UInt8
  }

  var receivers: [Receiver] = []
  var chips: [Chip] = []

  /// The text of the devices alone, to be added to an existing board file.
  var snippet: String {
    "devices: {\n" + devices.map { "    \($0.line),\n" }.joined() + "  },"
  }

  /// The text of a complete board file, with the outputs that most users want.
  var text: String {
    """
    // Written by sensorhub probe. Check it with sensorhub check, run it with sensorhub run --board.
    {
      name: "\(ProbedBoard.hostName)",
      devices: {
    \(deviceLines.joined(separator: "\n"))
      },
      motion: "free", // "vehicle" if it has wheels and moves nose first: positions stay accurate longer without fixes
      state: { rateHz: 10 },
      gpsd: {}, // on 127.0.0.1:2947, for gpspipe, cgps and all other clients of gpsd
      http: {}, // on 127.0.0.1:8080: the dashboard, /events, /metrics and more
      nmea: {}, // on 127.0.0.1:10110, for chart plotters
    }

    """
  }

  private var deviceLines: [String] {
    var lines: [String] = []
    if receivers.isEmpty {
      lines += [
        "    // No receiver was found. Wire one to the header's UART and enable the UART (raspi-config: the serial port's hardware",
        "    // on, its login shell off), or plug one into a USB port; then:",
        "    // gps: { driver: \"nmea\", port: \"\(SerialPortName.ofHeader(on: MachineFiles()))\" },",
      ]
    }
    if !chips.contains(where: { $0.kind == .imu }) {
      lines += [
        "    // No inertial sensor was found. Wire one to the header's pins 3 and 5 and enable I2C (raspi-config); sensorhub chips",
        "    // lists the chips that the hub can read. Then:",
        "    // imu: { driver: \"mpu-6050\", bus: \"/dev/i2c-1\" },",
      ]
    }
    for device in devices { lines.append("    \(device.line), // \(device.comment)") }
    lines += [
      "    // If a load switch supplies a device, name the switch's GPIO line in the device:",
      "    //   power: { switch: \"gpio\", chip: \"pinctrl-rp1\", line: \"GPIO17\", settleMilliseconds: 100 }",
    ]
    return lines
  }

  private var devices: [(line: String, comment: String)] {
    let receivers = self.receivers.enumerated().map { index, receiver in
      (
        line:
          "\(ProbedBoard.id("gps", index)): { driver: \"nmea\", port: \"\(receiver.port)\""
          + (receiver.speed.map { ", speed: \($0.rawValue)" } ?? "") + " }",
        comment: "an NMEA 0183 receiver"
      )
    }
    let chips = self.chips.enumerated().map { index, chip in
      let number = self.chips[..<index].count { $0.kind == chip.kind }
      return (
        line: "\(ProbedBoard.id(chip.kind.usualID, number)): { driver: \"\(chip.driver)\", bus: \"\(chip.bus)\", "
          + "address: 0x\(String(chip.address, radix: 16)) }",
        comment: chip.title
      )
    }
    return receivers + chips
  }

  /// An ID: `gps` for the first device of a kind, then `gps2`.
  private static func id(_ kind: String, _ index: Int) -> String { index == 0 ? kind : "\(kind)\(index + 1)" }

  private static var hostName: String {
    var buffer = [CChar](repeating: 0, count: 65)
    guard gethostname(&buffer, 64) == 0 else { return "board" }
    let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let plain = name.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    return plain.isEmpty ? "board" : plain
  }
}

extension ChipKind {
  /// The usual ID of a device of this kind.
  fileprivate var usualID: String {
    switch self {
    case .imu: "imu"
    case .magnetometer: "mag"
    case .barometer: "baro"
    case .supplyMonitor: "meter"
    }
  }
}
