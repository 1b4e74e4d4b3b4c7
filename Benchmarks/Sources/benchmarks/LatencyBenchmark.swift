import CLinux
import Glibc
import MonotonicTime

/// The time from the last byte of an epoch on the tty to its TPV at a client, for the hub, for gpsd and for a minimal
/// relay, alternately.
struct LatencyBenchmark {
  let executable: String

  private static let epochCount = 300

  func run() {
    guard
      let hub = Contestant(starting: { port, tty, folder in
        let board =
          "{ name: 'benchmark', devices: { gps: { driver: 'nmea', port: '\(tty)', speed: 9600 } }, gpsd: { port: \(port) } }"
        guard let file = fopen(folder + "/board.json5", "w") else { return nil }
        fputs(board, file)
        fclose(file)
        return Child.start(
          [
            executable, "run", "--no-journal-state", "--socket", folder + "/hub.sock", "--board",
            folder + "/board.json5",
          ])
      })
    else { return print("latency: the hub does not answer") }
    let gpsd = Contestant(starting: { port, tty, _ in Child.start(["gpsd", "-N", "-n", "-S", "\(port)", tty]) })
    let relay = Contestant(starting: { port, tty, _ in
      Child.start(["/proc/self/exe", "relay", "\(port)", tty])
    })
    var times: [[Double]] = [[], [], []]
    let start = MonotonicClock().now
    let contestants = [hub, gpsd, relay]
    for epoch in 0..<LatencyBenchmark.epochCount {
      // The contestants alternate, so that other activity of the machine affects all of them, and each follows a
      // pause of the same length: right after another one, the kernel's code would still be in the caches. Each has
      // ten epochs per second.
      for (index, contestant) in contestants.enumerated() {
        if let time = contestant?.time(epoch), epoch >= 20 { times[index].append(time) }
        let next = start + .milliseconds(100 * (contestants.count * epoch + index + 1) / contestants.count)
        pause(seconds: max(0, next.seconds(since: MonotonicClock().now)))
      }
    }
    let sorted = times.map { $0.sorted() }
    for (name, times) in zip(["sensorhub", "gpsd", "a relay that decodes nothing"], sorted) { report(name, times) }
    guard sorted.allSatisfy({ !$0.isEmpty }) else {
      return print("latency: nothing to compare: one of them does not answer (is gpsd installed?)")
    }
    let medians = sorted.map { $0[$0.count / 2] }
    print("latency of a TPV, the hub's median by gpsd's: \(fixed(medians[0] / medians[1], 3)) (at most 0.5)")
    print("latency of a TPV, the relay's, that is the kernel's part of it: \(fixed(medians[2] / medians[1], 3))")
    let own = (medians[0] - medians[2]) / (medians[1] - medians[2])
    print("latency of a TPV, without the kernel's part, by gpsd's: \(fixed(own, 3))")
  }

  private func report(_ name: String, _ times: [Double]) {
    guard !times.isEmpty else { return print("latency of a TPV, \(name): none came") }
    print(
      "latency of a TPV, \(name): median \(fixed(times[times.count / 2] * 1e6, 0)) microseconds, 99th percentile "
        + "\(fixed(times[times.count * 99 / 100] * 1e6, 0)), \(times.count) epochs")
  }
}

/// A server of the gpsd protocol with a pseudo-terminal as its receiver, and its client.
private final class Contestant {
  private let terminal: Int32
  private let pid: pid_t
  private let client: Int32
  private let folder: String
  private var pending: [UInt8] = []

  /// - Parameter start: starts the server; receives its port, its tty and a folder
  init?(starting start: (_ port: UInt16, _ tty: String, _ folder: String) -> pid_t?) {
    var template = Array("/tmp/sensorhub-benchmark-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return nil }
    folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    var name = [CChar](repeating: 0, count: 64)
    terminal = clinux_open_pseudo_terminal(&name, 64)
    guard terminal >= 0 else { return nil }
    let tty = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    let port = UInt16.random(in: 20000...30000)
    guard let pid = start(port, tty, folder) else { return nil }
    self.pid = pid
    client = Loopback.connect(port, withinSeconds: 5)
    guard client >= 0 else { return nil }
    let request = Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8)
    _ = send(client, request, request.count, 0)
    pause(seconds: 1)
  }

  deinit {
    kill(pid, SIGTERM)
    var status: Int32 = 0
    waitpid(pid, &status, 0)
    close(client)
    close(terminal)
    for name in ["board.json5", "hub.sock", "devices.sock", "record.sock"] { unlink(folder + "/" + name) }
    rmdir(folder)
  }

  /// Sends an epoch. Returns the seconds from its last byte to the TPV at the client.
  func time(_ epoch: Int) -> Double? {
    let second = epoch / 10 % 60
    let minute = epoch / 600
    let stamp = "12\(two(minute))\(two(second)).\(epoch % 10)0"
    // The position moves at the reported speed. A constant position at 17 knots would look like a frozen receiver.
    let north = 31.017235 + 0.000473 * Double(epoch)
    let east = 22.7062323 - 0.0000594 * Double(epoch)
    let place = "52\(fixed(north, 7)),N,013\(fixed(east, 7)),E"
    let sentences = [
      "GNRMC,\(stamp),A,\(place),17.081,355.63,211126,,,A,V", "GNVTG,355.63,T,,M,17.081,N,31.635,K,A",
      "GNGGA,\(stamp),\(place),1,08,0.90,37.3,M,41.0,M,,", "GNGSA,A,3,02,05,12,13,15,18,24,29,,,,,1.60,0.90,1.32,1",
      "GPGSV,2,1,08,02,62,105,45,05,31,051,41,12,48,301,43,13,22,182,37,1",
      "GPGSV,2,2,08,15,71,230,47,18,12,321,33,24,38,263,42,29,17,089,35,1", "GNGLL,\(place),\(stamp),A,A",
    ].map { body in
      let sum = body.utf8.reduce(UInt8(0)) { $0 ^ $1 }
      return Array("$\(body)*\(sum < 16 ? "0" : "")\(String(sum, radix: 16, uppercase: true))\r\n".utf8)
    }
    drain()
    // Written at once, as a USB receiver sends it.
    let bytes = sentences.flatMap { $0 }
    _ = write(terminal, bytes, bytes.count)
    let before = MonotonicClock().now
    var buffer = [UInt8](repeating: 0, count: 65536)
    var wait = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
    while poll(&wait, 1, 500) > 0 {
      let count = recv(client, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      let now = MonotonicClock().now
      pending += buffer[..<count]
      if String(decoding: pending, as: UTF8.self).contains(#""class":"TPV""#) {
        return Double(now.nanoseconds - before.nanoseconds) / 1e9
      }
    }
    return nil
  }

  private func drain() {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while recv(client, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
    pending = []
  }

  private func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
