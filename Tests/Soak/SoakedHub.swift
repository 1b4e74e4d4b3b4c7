import CLinux
import Glibc
import HardwareIO
import MonotonicTime
import TestSupport

/// A hub in a separate process, with a receiver on a pseudo-terminal and a simulated IMU, and the events that happen
/// to it.
final class SoakedHub {
  private static let answer = Array("HTTP/1.1 200".utf8)

  private let hub: HubProcess
  private let temporary = TemporaryFolder("soak")
  private var folder: String { temporary.path }
  private let notifications: DatagramSocket
  private let ports: (http: UInt16, gpsd: UInt16, nmea: UInt16)
  private var terminal = PseudoTerminal()
  private var receiver = SoakReceiver()
  private var reloads = 0
  /// Keeps the IMU awake during the other events.
  private var imuHold: Hold?
  private let cpuClock: clockid_t
  private var pid: pid_t { hub.program.pid }

  init(executable: String) throws {
    let folder = temporary.path
    notifications = DatagramSocket(folder + "/notify")
    ports = (SocketClient.freePort(), SocketClient.freePort(), SocketClient.freePort())
    symlink(terminal.path, folder + "/gps")
    // By default the allocator keeps the most memory that each thread has needed. The history of the fusion, 0.9 MB,
    // belongs to the thread whose client first needs the state, so the memory may grow by that in the second hour too.
    // With these settings all threads share one arena, and the history's arrays return to the system when they are freed.
    // A hub outside this test has more memory by that.
    hub = HubProcess(
      board: SoakedHub.board(folder, ports, 0),
      environment: ["NOTIFY_SOCKET=\(folder)/notify", "MALLOC_ARENA_MAX=1", "MALLOC_MMAP_THRESHOLD_=32768"],
      path: executable)
    var clock = clockid_t()
    guard clock_getcpuclockid(hub.program.pid, &clock) == 0 else {
      throw Visitor.Failure(description: "\(executable) does not run: \(hub.program.standardError)")
    }
    cpuClock = clock
    try waitUntilReady()
    _ = eventually { [ports] in SocketClient.isListening(ports.http) }
  }

  deinit {
    if hub.program.isRunning { hub.stop(SIGKILL) }
  }

  private static func board(
    _ folder: String, _ ports: (http: UInt16, gpsd: UInt16, nmea: UInt16), _ version: Int
  ) -> String {
    // The IMU is slow because its cost depends on time and not on the number of events.
    """
    { name: "soak \(version)", state: { rateHz: 1000 },
      devices: { gps: { driver: "nmea", port: "\(folder)/gps", speed: 115200,
        power: { switch: "gpio", chip: "simulated", line: "gps-power", settleMilliseconds: 0, lingerSeconds: 0 } },
        imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 20, burstRateHz: 10,
        power: { switch: "gpio", chip: "simulated", line: "imu-power", settleMilliseconds: 0, lingerSeconds: 0 } } },
      http: { port: \(ports.http) }, gpsd: { port: \(ports.gpsd) }, nmea: { port: \(ports.nmea) } }
    """
  }

  // MARK: Resources

  var residentBytes: Int {
    let file = open("/proc/\(pid)/statm", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(file, &bytes, bytes.count)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
  }

  /// The CPU time of all threads, including those that have ended.
  private var cpuSeconds: Double {
    var time = timespec()
    clock_gettime(cpuClock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The CPU seconds that `events` and their consequences cost.
  private func cost(_ events: () throws -> Void) rethrows -> Double {
    rest()
    let before = cpuSeconds
    try events()
    rest()
    return cpuSeconds - before
  }

  /// Waits until the process is idle.
  private func rest() {
    var last = cpuSeconds
    for _ in 0..<100 {
      pause(milliseconds: 3)
      let now = cpuSeconds
      if now == last { return }
      last = now
    }
  }

  /// The devices that are being read, in alphabetical order, from the names of their threads. Reading them costs the
  /// hub nothing, and ignores the runtime's short-lived threads.
  private var readers: [String] {
    Files.names(in: "/proc/\(pid)/task").compactMap { task in
      (try? Files.bytes(of: "/proc/\(pid)/task/\(task)/comm")).map { String(decoding: $0.dropLast(), as: UTF8.self) }
    }.filter(["gps", "imu"].contains).sorted()
  }

  /// Whether the hub has a line open, even if the line has hung up.
  private func hasOpen(_ path: String) -> Bool {
    Files.names(in: "/proc/\(pid)/fd").contains { number in
      var target = [CChar](repeating: 0, count: 256)
      let count = readlink("/proc/\(pid)/fd/\(number)", &target, target.count)
      let text = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return text == path || text == "\(path) (deleted)"
    }
  }

  private var resourcesNow: Soak.Resources {
    let counts = hub.resources
    return Soak.Resources(threads: counts[0], descriptors: counts[1])
  }

  /// The resources after all pending activity has ended.
  func resources() -> Soak.Resources {
    _ = eventually { isAtRest }
    var resources = resourcesNow
    var unchanged = 0
    _ = eventually {
      pause(milliseconds: 100)
      let now = resourcesNow
      unchanged = now == resources ? unchanged + 1 : 0
      resources = now
      return unchanged == 10
    }
    return resources
  }

  /// The resources, once they no longer exceed `before`: temporary ones may take a while to disappear.
  func resources(noMoreThan before: Soak.Resources) -> Soak.Resources {
    var resources = resources()
    _ = eventually {
      if !resources.isWithin(before) { resources = resourcesNow }
      return resources.isWithin(before)
    }
    return resources
  }

  func stacks() -> [StackUse] { StackUse.all(of: pid) }

  private var hasOnlySideTables: Bool { LeakReport.isOfSideTablesAlone(hub.program.standardError) }

  /// The output of a sanitizer.
  var complaints: String {
    if hasOnlySideTables { return "" }
    let lines = hub.program.standardError.split(separator: "\n")
    guard let first = lines.firstIndex(where: { $0.contains("Sanitizer") }) else { return "" }
    return lines[first...].prefix(60).joined(separator: "\n")
  }

  /// Ends the hub while clients are connected to every port.
  func end() throws -> (code: Int32, duration: Duration) {
    let clients = try Clients(self)
    let start = MonotonicClock().now
    let code = hub.stop(SIGTERM)
    let duration = MonotonicClock().now - start
    withExtendedLifetime(clients) {}
    // A process with a sanitizer's report exits with an error even though it has ended normally.
    return (code > 0 && hasOnlySideTables ? 0 : code, duration)
  }

  /// How the hub ended, if it ended unexpectedly.
  var death: String? {
    guard !hub.program.isRunning else { return nil }
    let code = hub.program.wait()
    return "the hub is dead: " + (code < 0 ? "signal \(-code)" : "exit code \(code)") + "\n"
      + hub.program.standardError.suffix(1000)
  }

  // MARK: Events

  /// Causes `count` events. Returns the CPU seconds that they cost.
  func live(through phase: Phase, _ count: Int) throws -> Double {
    switch phase {
    case .reads: try reads(count)
    case .scrapes: try requests(["/metrics"], count)
    case .states: try requests(["/state", "/state", "/state", "/devices"], count)
    case .polls: try polls(count)
    case .watches: try watches(count)
    case .streams: try streams(count)
    case .visits: try visits(count)
    case .cycles: try cycles(count)
    case .reloads: try reloads(count)
    case .faults: try faults(count)
    }
  }

  private func reads(_ count: Int) throws -> Double {
    let clients = try Clients(self)
    return try cost {
      for index in 0..<count {
        terminal.write(receiver.next())
        // Waits for the end of the sentence, so that the next one is read separately.
        try clients.nmea.wait(for: [10])
        if index % 16 == 0 { clients.drain() }
      }
      clients.drain()
    }
  }

  /// Sends several requests in a packet on one connection, as proxies do.
  private func requests(_ paths: [String], _ count: Int) throws -> Double {
    let client = try Visitor(port: ports.http)
    return try cost {
      var rest = count
      while rest > 0 {
        let number = min(rest, 16)
        try client.ask((0..<number).map { SoakedHub.request("GET", paths[$0 % paths.count]) }.joined())
        try client.wait(for: SoakedHub.answer, number)
        rest -= number
      }
    }
  }

  private func polls(_ count: Int) throws -> Double {
    let client = try Visitor(port: ports.gpsd)
    return try cost {
      var rest = count
      while rest > 0 {
        let number = min(rest, 16)
        try client.ask(String(repeating: "?POLL;?DEVICES;\n", count: number))
        try client.wait(for: Array(#""class":"DEVICES""#.utf8), number)
        rest -= number
      }
    }
  }

  private func watches(_ count: Int) throws -> Double {
    let holder = try awake()
    defer { release(holder) }
    return try cost {
      for _ in 0..<count {
        let client = try Visitor(port: ports.gpsd)
        // The second version arrives when the watch is active.
        try client.ask(#"?WATCH={"enable":true,"json":true,"nmea":true,"pps":true};?VERSION;"#)
        try client.wait(for: Array(#""class":"VERSION""#.utf8), 2)
      }
      holder.drain()
    }
  }

  private func streams(_ count: Int) throws -> Double {
    let holder = try awake()
    defer { release(holder) }
    return try cost {
      for _ in 0..<count {
        let client = try Visitor(port: ports.http)
        try client.ask(SoakedHub.request("GET", "/events?rate=10"))
        try client.wait(for: Array("retry:".utf8))
      }
      holder.drain()
    }
  }

  private func visits(_ count: Int) throws -> Double {
    let holder = try awake()
    defer { release(holder) }
    return try cost {
      for _ in 0..<count {
        let client = try Visitor(path: hub.socket)
        // Only the invalid request is answered. By then the rate has been changed.
        try client.ask("{\"rateHz\": 5, \"name\": \"soak\"}\nnonsense\n")
        try client.wait(for: Array("ERROR".utf8))
      }
      holder.drain()
    }
  }

  private func cycles(_ count: Int) throws -> Double {
    let client = try Visitor(port: ports.http)
    // One cycle from switching the rail on to the first sample.
    let first = try hold("imu", client)
    guard eventually({ hub.devicesNow["imu"].power == "tracking" }) else {
      throw Visitor.Failure(description: "the IMU does not wake")
    }
    try release(first, client)
    try waitUntilAsleep()
    let wakes = hub.devicesNow.devices.map(\.wakes)
    let result = try cost {
      for _ in 0..<count {
        let holds = try ["gps", "imu"].map { try hold($0, client) }
        try until("both devices are read") { readers == ["gps", "imu"] }
        for hold in holds { try release(hold, client) }
        try until("neither is") { readers.isEmpty }
      }
    }
    let missing = zip(hub.devicesNow.devices.map(\.wakes), wakes).map { count - ($0 - $1) }
    // A silent receiver is only tried again if its hold lasts long enough.
    guard missing.allSatisfy({ $0 <= 0 }) else {
      throw Visitor.Failure(description: "of \(count) power cycles \(missing) have not happened")
    }
    return result
  }

  private func reloads(_ count: Int) throws -> Double {
    let clients = try Clients(self)
    return try cost {
      for _ in 0..<count {
        reloads += 1
        HubProcess.write(SoakedHub.board(folder, ports, reloads % 2), to: hub.boardFile)
        hub.program.send(SIGHUP)
        try waitUntilReady()
        clients.drain()
      }
    }
  }

  private func faults(_ count: Int) throws -> Double {
    let client = try Visitor(port: ports.http)
    try waitUntilAsleep()
    let nesting = String(repeating: #"{"a":["#, count: 600)
    return try cost {
      for _ in 0..<count {
        let holder = try awake(imu: false)
        terminal.write([UInt8](repeating: 0x55, count: 200) + Array("$GPGGA,torn$GPRMC,,V*00\r\n".utf8))
        // The cable is pulled, and another receiver takes its place.
        let replacement = PseudoTerminal()
        unlink(folder + "/gps")
        symlink(replacement.path, folder + "/gps")
        terminal.hangUp()
        // Waits only until the old line is closed. The next one is opened soon.
        let gone = terminal.path
        try until("the receiver's line is closed") { !hasOpen(gone) }
        terminal = replacement
        for (nonsense, visitor) in [
          ("?WATCH=\(nesting)\(String(repeating: "}", count: 600));?VERSION;", try Visitor(port: ports.gpsd)),
          ("\(nesting)\n", try Visitor(path: hub.socket)),
        ] {
          try visitor.ask(nonsense)
          try visitor.wait(for: Array("ERROR".utf8))
          visitor.vanish()
        }
        let stream = try Visitor(port: ports.http)
        try stream.ask(SoakedHub.request("GET", "/events"))
        try stream.wait(for: Array("retry:".utf8))
        stream.vanish()
        try client.ask("GET /\(nesting) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try client.wait(for: Array("HTTP/1.1 4".utf8))
        holder.vanish()
      }
      try until("everything has gone") { readers.isEmpty && isAtRest }
    }
  }

  // MARK: Helpers

  private static func request(_ method: String, _ path: String) -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
  }

  /// A device that is kept awake, and the request that ends it.
  private struct Hold {
    var device: String
    var id: String
  }

  private func hold(_ device: String, _ client: Visitor) throws -> Hold {
    try client.ask(SoakedHub.request("POST", "/devices/\(device)/hold?for=3600"))
    let answer = try client.text(through: UInt8(ascii: "}"))
    guard let id = answer.split(separator: "\"id\":\"").dropFirst().first?.prefix(while: { $0 != "\"" }) else {
      throw Visitor.Failure(description: "no hold of \(device): \(answer)")
    }
    return Hold(device: device, id: String(id))
  }

  private func release(_ hold: Hold, _ client: Visitor) throws {
    try client.ask(SoakedHub.request("POST", "/devices/\(hold.device)/release?hold=\(hold.id)"))
    try client.wait(for: SoakedHub.answer)
  }

  private func until(_ what: String, _ isMet: () -> Bool) throws {
    // Polls briefly at first: this costs the hub nothing, and the condition usually becomes true within microseconds.
    for _ in 0..<200 where isMet() { return }
    guard eventually({ isMet() || !hub.program.isRunning }), hub.program.isRunning else {
      throw Visitor.Failure(description: "gave up waiting until \(what): \(hub.program.standardError.suffix(400))")
    }
  }

  private func waitUntilReady() throws {
    try until("the hub is ready") {
      while let message = notifications.next() { if message.starts(with: "READY=1".utf8) { return true } }
      return false
    }
  }

  /// Whether no device is active. A device that has failed has no holder for which it would be retried.
  private var isAtRest: Bool { hub.devicesNow.devices.allSatisfy { $0.power == "off" || $0.power == "failed" } }

  private func waitUntilAsleep() throws {
    guard eventually({ readers.isEmpty && isAtRest }) else {
      throw Visitor.Failure(description: "the devices do not sleep")
    }
    rest()
  }

  /// A client that keeps the receiver and the IMU powered, so that other clients that come and go do not switch
  /// anything.
  private func awake(imu: Bool = true) throws -> Visitor {
    if imu { imuHold = try hold("imu", try Visitor(port: ports.http)) }
    let client = try Visitor(port: ports.gpsd)
    try client.ask(#"?WATCH={"enable":true,"nmea":true};"#)
    try waitForSentences(client)
    return client
  }

  /// Waits until a client receives the receiver's sentences, and discards everything received before.
  private func waitForSentences(_ client: Visitor) throws {
    // Sentences written before the tty is open are lost. In the meantime the hub itself reports having no position.
    let isRead = eventually {
      for _ in 0..<SoakReceiver.sentencesPerEpoch { terminal.write(receiver.next()) }
      return client.hasReceived(Array("$GPGSV".utf8))
    }
    guard isRead else { throw Visitor.Failure(description: "the receiver is not read") }
    rest()
    client.drain()
  }

  private func release(_ holder: Visitor) {
    guard let hold = imuHold else { return }
    imuHold = nil
    _ = try? release(hold, Visitor(port: ports.http))
  }

  /// A client on every port. Each client requests everything.
  private final class Clients {
    let nmea: Visitor
    private let others: [Visitor]

    init(_ hub: SoakedHub) throws {
      let gpsd = try Visitor(port: hub.ports.gpsd)
      try gpsd.ask(#"?WATCH={"enable":true,"json":true,"nmea":true};"#)
      let events = try Visitor(port: hub.ports.http)
      try events.ask(SoakedHub.request("GET", "/events?rate=1000"))
      others = [gpsd, events, try Visitor(path: hub.hub.socket)]
      nmea = try Visitor(port: hub.ports.nmea)
      try hub.waitForSentences(nmea)
    }

    func drain() {
      for client in others { client.drain() }
    }
  }
}

private func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }
