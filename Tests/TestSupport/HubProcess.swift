import FoundationEssentials
import Glibc
import Guarding
import HardwareIO

/// A hub in its own process, with its own socket.
public final class HubProcess {
  public let program: Program
  public let socket: String
  private let temporary = TemporaryFolder("test")

  /// - Parameters:
  ///   - board: the text of a board file; `nil` for the built-in one
  ///   - path: the executable
  public init(
    board: String? = nil, _ arguments: [String] = [], environment: [String] = [], path: String = Program.sensorhub
  ) {
    let folder = temporary.path
    socket = folder + "/hub.sock"
    // The stored calibrations of this machine's own boards must not affect a test.
    let environment = environment + ["STATE_DIRECTORY=\(folder)/state"]
    var arguments = ["run", "--socket", socket] + arguments
    if let board {
      HubProcess.write(board, to: folder + "/board.json5")
      arguments += ["--board", folder + "/board.json5"]
    } else {
      // The option is needed on a machine that has an installed hub.
      arguments.append("--simulated")
    }
    program = Program(arguments, path: path, environment: environment)
    // The hub logs this once it handles signals. An earlier signal, when its sockets already exist, would end it at
    // once.
    _ = program.logs("state on \(socket)\n")
  }

  /// A hub on simulated devices that serves these ports.
  ///
  /// - Parameter fused: whether the NMEA port sends the fused state's sentences instead of the receiver's
  public static func simulated(gpsd: UInt16, nmea: UInt16, fused: Bool = false) -> HubProcess {
    HubProcess(board: simulatedBoard(gpsd: gpsd, nmea: nmea, fused: fused))
  }

  public static func simulatedBoard(gpsd: UInt16, nmea: UInt16, fused: Bool = false) -> String {
    simulatedBoard("gpsd: { port: \(gpsd) }, nmea: { port: \(nmea), source: \"\(fused ? "fused" : "receiver")\" }")
  }

  /// - Parameter ports: the sections of the board file that open ports
  public static func simulatedBoard(_ ports: String) -> String {
    let power = { (line: String) in
      "power: { switch: \"gpio\", chip: \"simulated\", line: \"\(line)\", settleMilliseconds: 20, lingerSeconds: 0.2 }"
    }
    return """
        { name: "test", motion: "vehicle",
          devices: { gps: { driver: "nmea", port: "simulated/gps", \(power("gps-power")) },
            imu: { driver: "mpu-6050", bus: "simulated/i2c", \(power("imu-power")) } },
          \(ports) }
      """
  }

  deinit {
    guard program.isRunning else { return }
    // A stopped process would not react to the request to end.
    program.send(SIGCONT)
    stop()
  }

  public var boardFile: String { temporary.path + "/board.json5" }

  public static func write(_ text: String, to path: String) { write(Array(text.utf8), to: path) }

  public static func write(_ bytes: [UInt8], to path: String) {
    Program.starting.withLock { _ in
      let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
      precondition(file >= 0)
      _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      close(file)
    }
  }

  /// Waits until the hub's log contains `text`. Returns false if the hub ends first.
  public func logs(_ text: String) -> Bool { program.logs(text) }

  /// Waits until the hub's log meets a condition. Returns false if the hub ends first.
  public func logs(_ isMet: (_ text: String) -> Bool) -> Bool { program.logs(isMet) }

  @discardableResult
  public func stop(_ signal: Int32 = SIGTERM) -> Int32 {
    program.send(signal)
    return program.wait()
  }

  public func watch(_ arguments: [String] = ["--json"]) -> Program {
    Program(["watch", "--socket", socket] + arguments)
  }

  public struct Devices: Decodable {
    public struct Device: Decodable {
      public var id, power, reason: String
      public var holders, holderIds: [String]
      public var wakes: Int
      public var measuredMilliwattHours: Double
      public var onSeconds: Double
      public var counters: [String: Int]
    }
    public var devices: [Device]
    public subscript(id: String) -> Device { devices.first { $0.id == id }! }
  }

  public var devices: Devices {
    let program = Program(["devices", "--json", "--socket", socket])
    program.wait()
    return try! JSONDecoder().decode(Devices.self, from: Data(program.standardOutput.utf8))
  }

  /// A state as received by a client of the socket.
  public struct State: Decodable {
    public struct Position: Decodable {
      public var lat, lon, age: Double
      public var source: String
    }
    public struct Attitude: Decodable { public var roll, pitch: Double }
    public var mode: String
    public var attitude: Attitude?
    public var time: String?
    public var position: Position?
  }

  public static func states(_ program: Program) -> [State] {
    program.lines.compactMap { try? JSONDecoder().decode(State.self, from: Data($0.utf8)) }
  }

  /// The numbers of threads and file descriptors of the process.
  public var resources: [Int] { ["task", "fd"].map { Files.names(in: "/proc/\(program.pid)/\($0)").count } }

  /// Whether the hub has a thread of this name.
  public func hasThread(_ name: String) -> Bool {
    let folder = "/proc/\(program.pid)/task"
    return Files.names(in: folder).contains { thread in
      (try? Files.bytes(of: "\(folder)/\(thread)/comm")).map { String(decoding: $0, as: UTF8.self) } == "\(name)\n"
    }
  }

  /// The devices that the process has open.
  public var openDevices: [String] {
    let listing = Program(["-l", "/proc/\(program.pid)/fd"], path: "/bin/ls")
    listing.wait()
    return listing.lines.filter { $0.contains("/dev/") && !$0.contains("/dev/null") }
  }
}

extension HubProcess {
  /// Whether all devices are off, or asleep if their power cannot be switched.
  public var isOff: Bool { devicesNow.devices.allSatisfy { $0.power == "off" || $0.power == "asleep" } }

  /// Waits until all devices are off, or asleep if their power cannot be switched.
  public func comesToRest() -> Bool { eventually { isOff } }

  /// Waits until a device has this state.
  public func shows(_ id: String, _ power: String) -> Bool { eventually { devicesNow[id].power == power } }

  /// The devices, read without starting a program. This is quick enough to see short-lived states.
  public var devicesNow: Devices {
    let folder = socket.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    let descriptor = SocketClient.connect(path: folder + "/devices.sock")
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return try! JSONDecoder().decode(Devices.self, from: Data(bytes))
  }
}

extension HubProcess {
  /// The running processes that this one has started.
  public var children: [pid_t] {
    Files.names(in: "/proc").compactMap(pid_t.init).filter { HubProcess.parent(of: $0) == program.pid }
  }

  /// Returns the parent of a process, or `nil` if the process does not exist or is a zombie.
  public static func parent(of pid: pid_t) -> pid_t? {
    guard let status = try? Files.bytes(of: "/proc/\(pid)/stat") else { return nil }
    // The name is in parentheses, and may contain parentheses.
    guard let end = status.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = status[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 1, fields[0] != [UInt8(ascii: "Z")], fields[0] != [UInt8(ascii: "X")] else { return nil }
    return pid_t(String(decoding: fields[1], as: UTF8.self))
  }

  /// Returns a line of the kernel's description of a process (`VmHWM`, `VmData` in kB, `SigBlk`).
  public static func status(_ key: String, of pid: pid_t) -> String? {
    let text = String(decoding: (try? Files.bytes(of: "/proc/\(pid)/status")) ?? [], as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") }
    return line.map { String($0.dropFirst(key.utf8.count + 1).drop { $0 == "\t" || $0 == " " }) }
  }

  /// Returns an amount of a process's memory, such as its present or greatest use.
  public static func kilobytes(_ key: String, of pid: pid_t) -> Int? {
    status(key, of: pid).flatMap { Int($0.prefix { $0.isNumber || $0 == " " }.filter(\.isNumber)) }
  }
}
