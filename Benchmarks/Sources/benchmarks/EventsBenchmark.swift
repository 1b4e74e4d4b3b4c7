import Glibc
import MonotonicTime

/// A thousand event streams at 10 Hz, some of them stalled: how old a state is when it has arrived, what they cost in
/// memory, and whether the devices are read any less well.
struct EventsBenchmark {
  let executable: String

  private static let clientCount = 1000
  private static let stalledCount = 20
  private static let seconds = 20

  func run() {
    var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var template = Array("/tmp/sensorhub-benchmark-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return }
    let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    let port = UInt16.random(in: 20000...30000)
    guard let file = fopen(folder + "/board.json5", "w") else { return }
    fputs(
      """
      { name: "benchmark", motion: "vehicle", http: { port: \(port) },
        gps: { port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
        imu: { chip: "mpu-6050", bus: "simulated/i2c", power: { switch: "gpio", chip: "simulated", line: "imu-power" } } }
      """, file)
    fclose(file)
    let pid = Child.start(
      [executable, "run", "--socket", folder + "/hub.sock", "--board", folder + "/board.json5"])
    guard let pid else { return print("events: the hub does not start") }
    defer {
      kill(pid, SIGTERM)
      var status: Int32 = 0
      waitpid(pid, &status, 0)
      for name in ["board.json5", "hub.sock", "devices.sock"] { unlink(folder + "/" + name) }
      rmdir(folder)
    }
    // One client comes and goes, so that what is made once has been made.
    var first = Client(port)
    guard first.isConnected else { return print("events: the hub does not answer") }
    let warmUp = MonotonicClock().now
    while MonotonicClock().now - warmUp < .seconds(3) { first.read() }
    first.leave()
    pause(seconds: 3)
    let before = residentKilobytes(pid)

    var clients = (0..<EventsBenchmark.clientCount).map { _ in Client(port) }
    let reading = EventsBenchmark.stalledCount..<clients.count
    // Until the last of them has had its first state.
    follow(&clients, reading, until: { clients in reading.allSatisfy { !clients[$0].states.isEmpty } })
    let start = MonotonicClock().now
    for index in reading { clients[index].delays = [] }
    let samples = sampleCount(port)
    follow(&clients, reading, until: { _ in MonotonicClock().now - start > .seconds(EventsBenchmark.seconds) })
    let sampled = Double(sampleCount(port) - samples) / (MonotonicClock().now - start).inSeconds
    let during = residentKilobytes(pid)
    let delays = reading.flatMap { clients[$0].delays }.sorted()
    // What one got, everybody has to have got who was there.
    let expected = Set(clients[reading.lowerBound].states.filter { $0 > start.nanoseconds }.dropLast(2))
    let missing = reading.reduce(0) { $0 + expected.subtracting(clients[$1].states).count }
    print("events: meanwhile the IMU gave \(fixed(sampled, 1)) samples a second (200 without clients)")
    for client in clients { client.leave() }
    pause(seconds: 5)
    print(
      "events: \(reading.count) clients beside \(EventsBenchmark.stalledCount) stalled ones, \(expected.count) states at 10 Hz: "
        + "\(missing) missing; at the client after \(fixed(delays[delays.count / 2] * 1e3, 1)) ms in the median, "
        + "\(fixed(delays[delays.count * 99 / 100] * 1e3, 1)) ms at the 99th percentile (at most 100)")
    print(
      "events: resident memory \(before) kB, \(during) kB with the clients, \(residentKilobytes(pid)) kB afterwards")
  }

  private func follow(_ clients: inout [Client], _ reading: Range<Int>, until isDone: ([Client]) -> Bool) {
    while !isDone(clients) {
      var descriptors = reading.map { pollfd(fd: clients[$0].descriptor, events: Int16(POLLIN), revents: 0) }
      poll(&descriptors, nfds_t(descriptors.count), 100)
      for (index, descriptor) in zip(reading, descriptors) where descriptor.revents != 0 { clients[index].read() }
    }
  }

  /// How many samples the IMU has given.
  private func sampleCount(_ port: UInt16) -> Int {
    let descriptor = Loopback.connect(port)
    defer { close(descriptor) }
    let request = Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    _ = send(descriptor, request, request.count, 0)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 { bytes += chunk[..<count] }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.contains("kind=\"samples\"") }
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

/// A client of `/events`.
private struct Client {
  let descriptor: Int32
  /// The monotonic nanoseconds of the states that have come.
  var states: [Int64] = []
  var delays: [Double] = []
  private var pending: [UInt8] = []

  var isConnected: Bool { descriptor >= 0 }

  init(_ port: UInt16) {
    descriptor = Loopback.connect(port, withinSeconds: 5)
    let request = Array("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    _ = send(descriptor, request, request.count, 0)
  }

  func leave() { close(descriptor) }

  /// Takes what is there.
  mutating func read() {
    var chunk = [UInt8](repeating: 0, count: 16384)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    let now = MonotonicClock().now.nanoseconds
    guard count > 0 else { return }
    pending += chunk[..<count]
    while let end = pending.firstIndex(of: 10) {
      let line = pending[..<end]
      // The satellites' events have identifiers too, and come once a second beside the states.
      if line.starts(with: "id: ".utf8), let at = Int64(String(decoding: line.dropFirst(4), as: UTF8.self)), !isSky {
        states.append(at)
        delays.append(Double(now - at) / 1e9)
      }
      isSky = line.starts(with: "event: ".utf8)
      pending.removeSubrange(...end)
    }
  }

  private var isSky = false
}
