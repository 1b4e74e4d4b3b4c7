import Glibc
import Guarding
import HardwareIO
import TestSupport
import VirtualBench

@testable import Hub

/// The wiring of the devices under test: the virtual board's, or the one in the file that SENSORHUB_WIRING names.
/// Documentation/how-to/your-own-bench.md contains an example.
struct Wiring {
  struct Line {
    /// The chip and line that switch the device's power.
    var chip, line: String
    /// The input on the same chip to which the line is connected.
    var sense: String
    /// Where the file describes the line; `nil` for the virtual board.
    var place: String?
  }

  struct GPS {
    var port: String
    var speed: Int
    var power: Line
  }

  struct IMU {
    var bus: String
    var address: Int?
    var power: Line
  }

  var gps: GPS
  var imu: IMU

  static let file = getenv("SENSORHUB_WIRING").map { String(cString: $0) }

  /// Reads a file in the form of a board file, with keys of its own.
  init(file: String) throws(BoardError) { try self.init(json5: try Board.bytes(of: file), file: file) }

  init(json5 bytes: [UInt8], file: String) throws(BoardError) {
    var root = try BoardSection(json5: bytes, file: file)
    gps = try GPS(try root.requiredSection("gps"))
    imu = try IMU(try root.requiredSection("imu"))
    try root.finish()
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

extension Wiring.Line {
  fileprivate init(_ section: BoardSection) throws(BoardError) {
    var section = section
    chip = try section.required("chip")
    line = try section.required("line")
    sense = try section.required("sense")
    place = "\(section.file):\(section.line): '\(section.path)'"
    try section.finish()
  }
}

extension Wiring.GPS {
  fileprivate init(_ section: BoardSection) throws(BoardError) {
    var section = section
    port = try section.required("port")
    guard let speed = try section.integer("speed", in: 4800...921_600) else { throw section.missing("speed") }
    self.speed = speed
    power = try Wiring.Line(try section.requiredSection("power"))
    try section.finish()
  }
}

extension Wiring.IMU {
  fileprivate init(_ section: BoardSection) throws(BoardError) {
    var section = section
    bus = try section.required("bus")
    address = try section.integer("address", in: 8...119)
    power = try Wiring.Line(try section.requiredSection("power"))
    try section.finish()
  }
}

extension BoardSection {
  fileprivate mutating func requiredSection(_ key: String) throws(BoardError) -> BoardSection {
    guard let section = try section(key) else { throw missing(key) }
    return section
  }
}

extension LineHistory {
  /// Observes a line through the input that it is connected to.
  convenience init(sensing line: Wiring.Line) throws(HardwareError) {
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
