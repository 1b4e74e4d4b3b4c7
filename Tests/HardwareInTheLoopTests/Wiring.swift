import FoundationEssentials
import Glibc
import Guarding
import HardwareIO
import TestSupport
import VirtualBench

/// The wiring of the devices under test: the virtual board's, or the one in the file that SENSORHUB_WIRING names.
/// Documentation/how-to/your-own-bench.md contains an example.
struct Wiring: Decodable {
  struct Line: Decodable {
    /// The chip and line that switch the device's power.
    var chip, line: String
    /// The input on the same chip to which the line is connected.
    var sense: String
  }

  struct GPS: Decodable {
    var port: String
    var speed: Int
    var power: Line
  }

  struct IMU: Decodable {
    var bus: String
    var address: Int?
    var power: Line
  }

  var gps: GPS
  var imu: IMU

  static let file = getenv("SENSORHUB_WIRING").map { String(cString: $0) }

  init(file: String) throws {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    self = try decoder.decode(Wiring.self, from: Data(try Files.bytes(of: file)))
  }

  init(_ board: VirtualBoard) {
    let chip = board.chip.label
    gps = GPS(
      port: board.gpsPath, speed: 9600,
      power: Line(chip: chip, line: VirtualBoard.gpsPower, sense: VirtualBoard.gpsSense))
    imu = IMU(
      bus: board.imuPath, power: Line(chip: chip, line: VirtualBoard.imuPower, sense: VirtualBoard.imuSense))
  }
}

extension LineHistory {
  /// Observes a line through the input that it is connected to.
  convenience init(sensing line: Wiring.Line) throws {
    let edges = try LinuxGPIOEdges(GPIOLineName(chip: line.chip, line: line.sense), rising: true, falling: true)
    let last = Recorded()
    self.init(of: {
      if let edge = (try? edges.takeEdges())?.latest { last.level.withLock { $0 = edge.isRising } }
      return last.level.withLock { $0 }
    })
  }

  private final class Recorded: Sendable {
    let level = Guarded(false)
  }
}
