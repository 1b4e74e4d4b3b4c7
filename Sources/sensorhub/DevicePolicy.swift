import Glibc
import HardwareIO
import Hub

/// The kinds of devices that a board needs, as systemd's `DeviceAllow=` names them, and the networks, as `IPAddressAllow=`.
///
/// Kinds and not paths: a receiver that is plugged in later has a device number that nobody knows yet.
struct DevicePolicy {
  /// `char-i2c`, sorted.
  let kinds: [String]
  /// Who else than this machine may connect: networks, or `any`.
  let networks: [String]

  init(_ board: Board) {
    var kinds: Set<String> = []
    if let gps = board.gps { kinds.formUnion(DevicePolicy.kinds(ofPort: gps.port)) }
    if board.gps?.pulse != nil { kinds.insert("char-pps") }
    if board.imu?.bus.hasPrefix("/") == true { kinds.insert("char-i2c") }
    let lines = [board.gps?.power.switch.line, board.imu?.power.switch.line, board.imu?.dataReady]
    if lines.contains(where: { $0.map { $0.chip != "simulated" } ?? false }) { kinds.insert("char-gpiochip") }
    self.kinds = kinds.sorted()
    let endpoints = [board.gpsdEndpoint].compactMap { $0 } + board.nmea.compactMap(\.endpoint)
    var networks = endpoints.filter { !$0.isLoopback }.flatMap(\.allow).map(\.description)
    networks += board.nmea.compactMap(\.target?.address).filter { !$0.isLoopback }.map(\.description)
    if let http = board.http?.endpoint, !http.isLoopback {
      networks += http.allow.isEmpty ? ["any"] : http.allow.map(\.description)
    }
    self.networks = networks
  }

  var dropIn: String {
    (["# What the board needs; written by sensorhub check --device-policy.", "[Service]"]
      + kinds.map { "DeviceAllow=\($0) rw" } + networks.map { "IPAddressAllow=\($0)" }).joined(separator: "\n")
  }

  /// By the driver, which the name tells; a name that udev gives may stand for any of them.
  private static func kinds(ofPort path: String) -> [String] {
    guard path.hasPrefix("/dev/") else { return [] }
    let name = Files.resolved(path) ?? path
    if name.hasPrefix("/dev/pts/") { return ["char-pts"] }
    let drivers = ["ttyAMA", "ttyS", "ttyUSB", "ttyACM"]
    let named = drivers.filter { name.hasPrefix("/dev/\($0)") }
    return (named.isEmpty ? drivers : named).map { "char-\($0)" }
  }
}

extension Board.Power.Switch {
  fileprivate var line: GPIOLineName? {
    guard case .gpio(let line, _) = self else { return nil }
    return line
  }
}
