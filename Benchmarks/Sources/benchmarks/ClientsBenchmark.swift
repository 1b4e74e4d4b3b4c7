import Glibc
import MonotonicTime

/// Many clients at 10 Hz, some of them stalled. Measures the latency at each client, the memory they cost, and
/// whether the devices are still read as often.
struct ClientsBenchmark {
  /// The output that the clients subscribe to.
  enum Output: String {
    case events, gpsd

    var clientCount: Int { self == .events ? 1000 : 200 }

    var request: String {
      switch self {
      case .events: "GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n"
      case .gpsd: "?WATCH={\"enable\":true,\"json\":true,\"attitudeRate\":10};\n"
      }
    }
  }

  let executable: String
  let output: Output

  private static let stalledCount = 20
  private static let seconds = 20

  func run() {
    var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var template = Array("/tmp/sensorhub-benchmark-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return }
    let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    let httpPort = UInt16.random(in: 20000...25000)
    let gpsdPort = UInt16.random(in: 25001...30000)
    let port = output == .events ? httpPort : gpsdPort
    guard let file = fopen(folder + "/board.json5", "w") else { return }
    fputs(
      """
      { name: "benchmark", motion: "vehicle", state: { rateHz: 10 },
        http: { port: \(httpPort) }, gpsd: { port: \(gpsdPort) },
        devices: { gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", power: { switch: "gpio", chip: "simulated", line: "imu-power" } } } }
      """, file)
    fclose(file)
    let pid = Child.start(
      [executable, "run", "--socket", folder + "/hub.sock", "--board", folder + "/board.json5"])
    guard let pid else { return print("clients: the hub does not start") }
    defer {
      kill(pid, SIGTERM)
      var status: Int32 = 0
      waitpid(pid, &status, 0)
      for name in ["board.json5", "hub.sock", "devices.sock", "record.sock"] { unlink(folder + "/" + name) }
      rmdir(folder)
    }
    // One client connects and leaves first, so that objects that are created once exist already.
    var first = Client(of: output, port)
    guard first.isConnected else { return print("clients: the hub does not answer") }
    let warmUp = MonotonicClock().now
    while MonotonicClock().now - warmUp < .seconds(3) { first.read() }
    first.leave()
    pause(seconds: 3)
    let before = residentKilobytes(pid)

    var clients = (0..<output.clientCount).map { _ in Client(of: output, port) }
    let reading = ClientsBenchmark.stalledCount..<clients.count
    // Waits until the last client has received its first value. A hub that has died sends none.
    let connected = MonotonicClock().now
    follow(
      &clients, reading,
      until: { clients in
        reading.allSatisfy { !clients[$0].arrivals.isEmpty } || MonotonicClock().now - connected > .seconds(30)
      })
    let start = MonotonicClock().now
    let samples = sampleCount(httpPort)
    follow(&clients, reading, until: { _ in MonotonicClock().now - start > .seconds(ClientsBenchmark.seconds) })
    let sampled = Double(sampleCount(httpPort) - samples) / (MonotonicClock().now - start).inSeconds
    let during = residentKilobytes(pid)
    for client in clients { client.leave() }
    pause(seconds: 5)

    // An event contains the time at which its value was made. The gpsd protocol does not, so the arrival at the first
    // client is used.
    var madeAt: [Client.Value: Int64] = [:]
    for client in clients[reading] {
      for (value, at) in client.arrivals {
        if case .event(let instant) = value {
          madeAt[value] = instant
        } else {
          madeAt[value] = min(madeAt[value] ?? at, at)
        }
      }
    }
    // Values in transit at the beginning or the end are ignored.
    let expected = Set(
      madeAt.filter { $0.value > start.nanoseconds }.sorted { $0.value < $1.value }.dropLast(2).map(\.key))
    let missing = reading.reduce(0) { $0 + expected.subtracting(clients[$1].arrivals.keys).count }
    let delays = clients[reading].flatMap { client in
      client.arrivals.compactMap { value, at in
        expected.contains(value) ? madeAt[value].map { Double(at - $0) / 1e6 } : nil
      }
    }.sorted()
    guard !delays.isEmpty else { return print("\(output): nothing came") }
    print(
      "\(output): \(reading.count) clients beside \(ClientsBenchmark.stalledCount) stalled ones, \(expected.count) values each at 10 Hz: "
        + "\(missing) missing; at the client \(fixed(delays[delays.count / 2], 1)) ms after \(output == .events ? "they were made" : "the first client had them") in the median, "
        + "\(fixed(delays[delays.count * 99 / 100], 1)) ms at the 99th percentile (at most 100)")
    print("\(output): meanwhile the IMU gave \(fixed(sampled, 1)) samples a second (200 without clients)")
    print(
      "\(output): resident memory \(before) kB, \(during) kB with the clients, \(residentKilobytes(pid)) kB afterwards")
  }

  private func follow(_ clients: inout [Client], _ reading: Range<Int>, until isDone: ([Client]) -> Bool) {
    while !isDone(clients) {
      var descriptors = reading.map { pollfd(fd: clients[$0].descriptor, events: Int16(POLLIN), revents: 0) }
      poll(&descriptors, nfds_t(descriptors.count), 100)
      for (index, descriptor) in zip(reading, descriptors) where descriptor.revents != 0 { clients[index].read() }
    }
  }

  /// The number of samples from the IMU.
  private func sampleCount(_ port: UInt16) -> Int {
    let descriptor = Loopback.connect(port)
    defer { close(descriptor) }
    let request = Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    _ = send(descriptor, request, request.count, 0)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 { bytes += chunk[..<count] }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("sensorhub_device_samples_total{")
    }
    return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
  }

  private func residentKilobytes(_ pid: pid_t) -> Int {
    guard let file = fopen("/proc/\(pid)/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, 256, file) != nil else { return 0 }
    let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize()) / 1024
  }
}

/// One of many clients.
private struct Client {
  /// A value that all clients receive, distinct from the values before and after it.
  enum Value: Hashable {
    /// Identified by the instant in the event's ID, in nanoseconds.
    case event(Int64)
    case line(String)
  }

  let descriptor: Int32
  /// The arrival times of the values in monotonic nanoseconds.
  var arrivals: [Value: Int64] = [:]
  private let output: ClientsBenchmark.Output
  private var pending: [UInt8] = []
  private var isState = false

  var isConnected: Bool { descriptor >= 0 }

  init(of output: ClientsBenchmark.Output, _ port: UInt16) {
    self.output = output
    descriptor = Loopback.connect(port, withinSeconds: 5)
    let request = Array(output.request.utf8)
    _ = send(descriptor, request, request.count, 0)
  }

  func leave() { close(descriptor) }

  /// Reads the available bytes.
  mutating func read() {
    var chunk = [UInt8](repeating: 0, count: 16384)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    let now = MonotonicClock().now.nanoseconds
    guard count > 0 else { return }
    pending += chunk[..<count]
    while let end = pending.firstIndex(of: 10) {
      if let value = value(of: pending[..<end]) { arrivals[value] = now }
      pending.removeSubrange(...end)
    }
  }

  private mutating func value(of line: ArraySlice<UInt8>) -> Value? {
    switch output {
    case .events:
      defer { isState = !line.starts(with: "event: ".utf8) }
      // Satellite events, which are sent once a second in addition to the states, have IDs too.
      guard isState, line.starts(with: "id: ".utf8) else { return nil }
      return Int64(String(decoding: line.dropFirst(4), as: UTF8.self)).map(Value.event)
    case .gpsd:
      // Two measurements of the IMU are never equal.
      return line.starts(with: #"{"class":"IMU""#.utf8) ? .line(String(decoding: line, as: UTF8.self)) : nil
    }
  }
}
