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
  /// Folders that the hub writes to.
  let writtenPaths: [String]

  init(_ board: Board) {
    var kinds: Set<String> = []
    for device in board.devices {
      if case .receiver(let receiver) = device {
        kinds.formUnion(DevicePolicy.kinds(ofPort: receiver.port))
        if receiver.pulse != nil { kinds.insert("char-pps") }
      } else if device.path.hasPrefix(IIOBus.prefix) {
        kinds.insert("char-iio")
      } else if device.path.hasPrefix("/") {
        kinds.insert("char-i2c")
      }
    }
    if board.lines.contains(where: { $0.line.chip != "simulated" }) { kinds.insert("char-gpiochip") }
    self.kinds = kinds.sorted()
    let endpoints = [board.gpsdEndpoint].compactMap { $0 } + board.nmea.compactMap(\.endpoint)
    var networks = endpoints.filter { !$0.isLoopback }.flatMap(\.allow).map(\.description)
    networks += board.nmea.compactMap(\.target?.address).filter { !$0.isLoopback }.map(\.description)
    if let http = board.http?.endpoint, !http.isLoopback {
      networks += http.allow.isEmpty ? ["any"] : http.allow.map(\.description)
    }
    self.networks = networks
    writtenPaths = [board.record?.path].compactMap { $0 }
  }

  var dropIn: String {
    (["# What the board needs; written by sensorhub check --device-policy.", "[Service]"]
      + kinds.map { "DeviceAllow=\($0) rw" }
      // Rates, triggers and buffers are set in /sys.
      + (kinds.contains("char-iio") ? ["ProtectKernelTunables=no"] : []) + networks.map { "IPAddressAllow=\($0)" }
      // One that is not there yet does not keep the hub from starting.
      + writtenPaths.map { "ReadWritePaths=-\($0)" })
      .joined(separator: "\n")
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
