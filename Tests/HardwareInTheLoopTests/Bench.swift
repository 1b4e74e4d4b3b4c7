import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

/// The virtual board that all tests of the bench share, one after the other.
enum Bench {
  /// Whether this is the bench's kernel: everything else skips these tests, visibly.
  static let isHere = access("/dev/i2c-relay", R_OK | W_OK) == 0

  static let board: VirtualBoard = {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .zero
    receiver.rateHz = 10
    do {
      return try VirtualBoard(label: "bench", folder: "/dev/sensorhub", receiver: receiver)
    } catch {
      fatalError("the bench has no devices: \(error)")
    }
  }()

  /// What a test changes of the board file.
  struct Settings {
    var linger = 0.0
    var minimumOn = 0.0
    var minimumOff = 0.0
    var settleMilliseconds = 0
    var imuRateHz = 200
    var usesDataReady = false
    var hasGPS = true
    var hasIMU = true
  }

  /// A hub on the bench's devices. The lines are low, and their history is empty.
  static func hub(_ settings: Settings = Settings()) -> HubProcess {
    // Swift's backtracer would resume a thread whose fault was only sent.
    let hub = HubProcess(board: boardFile(settings), environment: ["SWIFT_BACKTRACE=enable=no"])
    for line in [board.gpsLine, board.imuLine] {
      _ = eventually { !line.isHigh }
      line.restart()
    }
    return hub
  }

  static func boardFile(_ settings: Settings) -> String {
    let power = { (line: String) in
      """
      power: { switch: "gpio", chip: "bench", line: "\(line)", settleMilliseconds: \(settings.settleMilliseconds),
        lingerSeconds: \(settings.linger), minimumOnSeconds: \(settings.minimumOn),
        minimumOffSeconds: \(settings.minimumOff) }
      """
    }
    let ready = settings.usesDataReady ? "dataReady: { chip: \"bench\", line: \"\(VirtualBoard.dataReady)\" }," : ""
    let gps =
      settings.hasGPS ? "gps: { port: \"\(board.gpsPath)\", speed: 9600, \(power(VirtualBoard.gpsPower)) }," : ""
    let imu =
      settings.hasIMU
      ? """
      imu: { chip: "mpu-6050", bus: "\(board.imuPath)", rateHz: \(settings.imuRateHz), \(ready)
        \(power(VirtualBoard.imuPower)) },
      """ : ""
    return "{ name: \"bench\", \(gps) \(imu) state: { rateHz: 50 } }"
  }

  /// Prints what the kernel saw, for the list at the end of the run.
  static func saw(_ what: String) {
    let name = Test.current?.name.filter { $0 != "`" }.split(separator: "(").first ?? "?"
    print("kernel saw | \(name) | \(what)")
    fflush(nil)
  }

  static func milliseconds(_ duration: Duration) -> String {
    let tenths = Int((duration.inSeconds * 10_000).rounded())
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
