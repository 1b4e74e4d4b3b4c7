import Glibc
import HardwareIO
import Hub

/// The permissions that systemd must give the hub for a board: kinds of devices (`DeviceAllow=`), networks
/// (`IPAddressAllow=`) and paths. The policy also names the logins that conflict with the board's serial ports.
///
/// For devices, the policy names kinds instead of paths, because the device number of a receiver that is plugged in
/// later is unknown.
public struct DevicePolicy {
  /// The kinds of devices, for example `char-i2c`, sorted.
  let kinds: [String]
  /// Whether the hub writes to files in /sys.
  let writesSystemFiles: Bool
  /// Whether the hub uses the network at all, for example for a port, a broker or a caster. Otherwise it does not even
  /// need the loopback.
  let usesNetwork: Bool
  let usesCAN: Bool
  /// The networks of machines that may connect, or that the hub connects to. `any` stands for all machines.
  let networks: [String]
  /// Whether the hub shuts the machine down. For that its user needs a right from logind.
  let shutsDown: Bool
  /// Whether the hub suspends the machine. For that its user needs another right from logind.
  let suspends: Bool
  /// Whether the hub switches a modem's receiver. For that its user needs rights from ModemManager.
  let usesModem: Bool
  /// The folder of recordings, if the board file names one, as a value of `ReadWritePaths=`.
  let writtenPaths: [String]
  /// The programs that the hub runs, and the folders of their interpreters, as values of `ExecPaths=`.
  let runPaths: [String]
  /// The units of logins on the board's ports. A serial port serves either a receiver or a login.
  let logins: [String]

  public init(_ board: Board, on machine: MachineFiles = MachineFiles()) {
    var kinds: Set<String> = []
    for device in board.devices {
      if case .receiver(let receiver) = device {
        if device.place == nil { kinds.formUnion(DevicePolicy.kinds(ofPort: receiver.port)) }
        if receiver.pulse != nil { kinds.insert("char-pps") }
      }
      guard device.place != nil else { continue }
      if device.path.hasPrefix(IIOBus.prefix) {
        kinds.insert("char-iio")
      } else if device.path.hasPrefix("/") {
        kinds.insert("char-i2c")
      }
    }
    if let port = board.mavlink?.serialPort { kinds.formUnion(DevicePolicy.kinds(ofPort: port)) }
    if board.lines.contains(where: { $0.line.chip != "simulated" }) { kinds.insert("char-gpiochip") }
    if board.sleep?.rtc != nil { kinds.insert("char-rtc") }
    writesSystemFiles = kinds.contains("char-iio")
    self.kinds = kinds.sorted()
    shutsDown = board.battery?.criticalVolts != nil || board.sleep?.way == .poweroff
    usesModem = board.devices.contains { ModemPortName.isMeant(by: $0.path) }
    suspends = board.sleep?.way == .suspend
    let casters = board.devices.flatMap { device in
      if case .receiver(let receiver) = device { receiver.caster?.inOrder ?? [] } else { [CasterSettings]() }
    }
    let sources = board.devices.compactMap { device in
      if case .receiver(let receiver) = device { NetworkSource(receiver.port) } else { nil }
    }
    usesNetwork =
      board.gpsdEndpoint != nil || board.http != nil || !board.nmea.isEmpty || board.fleet != nil || !casters.isEmpty
      || board.signalK != nil || board.bridge != nil || board.gdl90 != nil || !sources.isEmpty
      || board.mavlink?.address != nil || !board.signalKServers.isEmpty
      || board.hooks.contains { $0.webhook != nil }
    usesCAN = board.nmea2000 != nil
    let single = [board.gpsdEndpoint, board.signalK?.endpoint, board.bridge?.endpoint]
    let endpoints = single.compactMap { $0 } + board.nmea.compactMap(\.endpoint)
    var networks = endpoints.filter { !$0.isLoopback }.flatMap(\.allow).map(\.description)
    networks += board.nmea.compactMap(\.target?.address).filter { !$0.isLoopback }.map(\.description)
    let peers = [board.gdl90?.address, board.mavlink?.address].compactMap { $0 }
    networks += peers.filter { !$0.isLoopback }.map(\.description)
    if let http = board.http?.endpoint, !http.isLoopback {
      networks += http.allow.isEmpty ? ["any"] : http.allow.map(\.description)
    }
    // The address of a host name may change, and its resolution needs a name server.
    if let broker = board.fleet?.broker, !broker.isLoopback { networks.append(broker.address?.description ?? "any") }
    for caster in casters where !caster.isLoopback { networks.append(caster.address?.description ?? "any") }
    for server in board.signalKServers.map(\.address) where !server.isLoopback {
      networks.append(server.address?.description ?? "any")
    }
    for source in sources where !DevicePolicy.isLocal(source) { networks.append(DevicePolicy.network(of: source)) }
    for webhook in board.hooks.compactMap(\.webhook) where !webhook.isLoopback {
      networks.append(IPAddress(webhook.origin.host)?.description ?? "any")
    }
    var seen: Set<String> = []
    self.networks = networks.filter { seen.insert($0).inserted }
    runPaths = DevicePolicy.runPaths(of: board.hooks, and: board.sleep?.command?.first)
    // A missing folder must not keep systemd from starting the hub.
    writtenPaths = [board.record?.path].compactMap { $0.flatMap { UnitText.path($0, isOptional: true) } }
    let ports = board.devices.compactMap { if case .receiver(let receiver) = $0 { receiver.port } else { nil } }
    let lines = ports + [board.mavlink?.serialPort].compactMap { $0 }
    let terminals = lines.compactMap(machine.resolved).filter { $0.hasPrefix("/dev/tty") }
    logins = Set(
      terminals.map { terminal in
        let name = UnitText.instance(String(terminal.dropFirst("/dev/".count)))
        return "serial-getty@\(name).service"
      }
    ).sorted()
  }

  /// The text of the drop-in for the hub's unit.
  public var dropIn: String {
    (["# The board's permissions; written by sensorhub check --device-policy."] + lines).joined(separator: "\n")
  }

  /// The contents of the drop-in, without the comment at its head.
  public var lines: [String] {
    var lines: [String] = []
    if !logins.isEmpty { lines += ["[Unit]"] + logins.map { "Conflicts=\($0)" } }
    lines.append("[Service]")
    lines += kinds.map { "DeviceAllow=\($0) rw" }
    // The hub sets rates, triggers and buffers in /sys.
    if writesSystemFiles { lines.append("ProtectKernelTunables=no") }
    if usesNetwork { lines += ["RestrictAddressFamilies=AF_INET AF_INET6", "IPAddressAllow=localhost"] }
    if usesCAN { lines.append("RestrictAddressFamilies=AF_CAN") }
    lines += networks.map { "IPAddressAllow=\($0)" }
    lines += writtenPaths.map { "ReadWritePaths=\($0)" }
    lines += runPaths.map { "ExecPaths=\($0)" }
    // systemd ignores this line. The script systemd/activate reads it and grants the right.
    if shutsDown { lines.append("X-PowerOff=yes") }
    if suspends { lines.append("X-Suspend=yes") }
    if usesModem { lines.append("X-Modem=yes") }
    return lines
  }

  /// The programs of the hooks and of the sleep, and curl for webhooks. The sandbox lets the hub run no other program.
  /// If a hook runs a program, the usual folders of programs are included, because a script needs its interpreter and
  /// may run other programs.
  private static func runPaths(of hooks: [HookSettings], and command: String?) -> [String] {
    let programs = hooks.compactMap(\.program) + [command].compactMap { $0 }
    let folders = programs.isEmpty ? [] : ["-/usr/bin", "-/bin", "-/usr/local/bin"]
    let curl = programs.isEmpty && hooks.contains { $0.webhook != nil } ? ["-/usr/bin/curl"] : []
    var seen: Set<String> = []
    let paths = programs.compactMap { UnitText.path($0, isOptional: true) }
    return (folders + curl + paths).filter { seen.insert($0).inserted }
  }

  private static func isLocal(_ source: NetworkSource) -> Bool {
    source.host == "localhost" || IPAddress(source.host)?.isLoopback == true
  }

  /// The network of a source. Datagrams may come from any machine, and the address of a host name may change.
  private static func network(of source: NetworkSource) -> String {
    source.kind == .udp ? "any" : IPAddress(source.host)?.description ?? "any"
  }

  /// The kinds of serial ports that a path may name. A path such as a udev link does not show the kind. Then all kinds
  /// are allowed, because the link may point to a port of another kind later.
  private static func kinds(ofPort path: String) -> [String] {
    guard path.hasPrefix("/dev/") else { return [] }
    let device = Files.resolved(path) ?? path
    if device.hasPrefix("/dev/pts/") { return ["char-pts"] }
    if GNSSDevice.isMeant(by: device) { return ["char-gnss"] }
    let (header, plugged) = (["ttyAMA", "ttyS"], ["ttyUSB", "ttyACM"])
    let known = (header + plugged).filter { path.hasPrefix("/dev/\($0)") }
    let named =
      if !known.isEmpty {
        known
      } else if path.hasPrefix("/dev/serial/") {
        plugged
      } else if path.hasPrefix("/dev/serial") {
        header
      } else {
        header + plugged
      }
    return named.map { "char-\($0)" }
  }
}
