import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Calls to the kernel that do not return: transfers to a chip, the switching of a line on a GPIO expander, and the
  /// close of a serial port.
  ///
  /// A hanging transfer cannot be interrupted, even by SIGKILL. A process with such a thread has ended when all its
  /// other threads have. The kernel keeps its number until the transfer returns.
  @Suite(
    .serialized, .timeLimit(.minutes(600)), .enabled(if: Bench.isVirtual, "these need devices that can be told to hang")
  )
  struct HangTests {
    private static let shared: HangingBoard = {
      do {
        return try HangingBoard(label: "hanging")
      } catch {
        fatalError("the bench has no devices that hang: \(error)")
      }
    }()

    private static let allDevices = ["gps", "imu", "spare", "baro"]
    /// The limit for the end of a hub after SIGTERM, whatever hangs.
    private static let longestEnd = Duration.seconds(5)
    /// How long a reader of a chip may stay in a call to the kernel, and the time until the next check.
    private static let patience = Duration.seconds(2)
    private static let checks = Duration.seconds(1)

    private let board = HangTests.shared
    private let clock = MonotonicClock()

    /// A hub on these devices. Nothing hangs, the lines are low and their history is empty when this returns.
    private func hub(_ ids: [String] = HangTests.allDevices, environment: [String] = []) -> HubProcess {
      board.free()
      let hub = HubProcess(board: board.boardFile(ids), environment: ["SWIFT_BACKTRACE=enable=no"] + environment)
      #expect(eventually { board.areLinesLow }, "before the first client: \(describe(hub))")
      for line in board.lines.values { line.restart() }
      return hub
    }

    private func line(_ id: String) throws -> LineHistory { try #require(board.lines[id]) }

    private func isOn(_ id: String) -> Bool { board.lines[id]?.isHigh ?? false }

    /// The devices as the hub and the meter see them.
    private func describe(_ hub: HubProcess) -> String {
      let log = hub.program.standardError.split(separator: "\n").suffix(8).joined(separator: "\n  ")
      let devices =
        hub.program.isRunning && !hasEnded(hub)
        ? hub.devicesNow.devices.map { "\($0.id) \($0.power) (\($0.reason)) for \($0.holders)" }.joined(separator: ", ")
        : "the hub has ended"
      return "lines: \(board.levels); devices: \(devices); log:\n  \(log)"
    }

    /// Whether all threads have ended except those that hang in the kernel.
    private func hasEnded(_ hub: HubProcess) -> Bool {
      if !hub.program.isRunning { return true }
      guard let status = try? Files.bytes(of: "/proc/\(hub.program.pid)/stat") else { return true }
      // The state follows the name, which is in parentheses.
      return status.lastIndex(of: UInt8(ascii: ")")).map { status.dropFirst($0 + 2).first == UInt8(ascii: "Z") } ?? true
    }

    /// Sends a signal and waits for the end. Returns the time in between.
    private func end(_ hub: HubProcess, _ signal: Int32 = SIGTERM) -> Duration {
      let asked = clock.now
      hub.program.send(signal)
      #expect(
        eventually(within: .seconds(120)) { hasEnded(hub) },
        "the hub runs two minutes after the signal: \(describe(hub))"
      )
      return clock.now - asked
    }

    /// Ends all hangs, waits until the kernel has removed an ended hub, and makes its board safe as the unit does.
    private func clearUp(after hub: HubProcess, _ what: String) {
      board.free()
      let code = hub.program.wait()
      let safe = Program(["safe", hub.boardFile])
      let safeCode = safe.wait()
      #expect(safeCode == 0, "\(what): the hub ended with \(code), safe said: \(safe.standardError)")
      #expect(eventually(within: .seconds(30)) { board.areLinesLow }, "\(what): after safe: \(describe(hub))")
    }

    private func wait(milliseconds: Int) { _ = poll(nil, 0, Int32(milliseconds)) }

    // MARK: The serial port

    @Test func `a close waits half a minute for a blocked line, and the hub's takes no second`() throws {
      board.free()
      board.port.setBlocked(true)
      let port = open(board.port.path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
      try #require(port >= 0, "opening \(board.port.path): \(errno)")
      #expect(write(port, "blocked", 7) == 7)
      let closing = clock.now
      close(port)
      let plain = clock.now - closing
      #expect(plain > .seconds(20), "the bench's port does not wait for its line: \(plain)")

      let hub = hub(["gps"])
      board.port.setBlocked(true)
      let subscriber = Subscriber(hub)
      #expect(eventually { hub.devicesNow["gps"].counters["sentences"] ?? 0 > 0 }, "\(describe(hub))")
      let unsent = try unsentCount()
      #expect(unsent > 0, "the hub has sent no command: \(describe(hub))")
      let left = clock.now
      subscriber.leave()
      #expect(eventually(within: .seconds(60)) { hub.openDevices.isEmpty }, "\(hub.openDevices), \(describe(hub))")
      let fall = try line("gps").falls.last.map { $0 - left }
      #expect(fall.map { $0 < .seconds(1) } == true, "the line fell after \(fall as Any): \(describe(hub))")
      Bench.saw(
        "blocked line: close of a plain program \(Bench.milliseconds(plain)); hub: \(unsent) bytes unsent, power off "
          + "\(fall.map(Bench.milliseconds) ?? "never") after the last client left")
      let ending = end(hub)
      #expect(ending < HangTests.longestEnd, "\(ending)")
      clearUp(after: hub, "a blocked line")
    }

    /// The number of bytes that the hub has written and its line has not sent.
    private func unsentCount() throws -> Int {
      let port = open(board.port.path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
      try #require(port >= 0, "opening \(board.port.path): \(errno)")
      // The hub has the port open too, so that this close does not wait.
      defer { close(port) }
      var count: Int32 = 0
      return ioctl(port, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : -1
    }

    // MARK: The end

    enum Hang: String, CaseIterable {
      case imu, barometer, expander, port, everything

      /// The devices whose lines cannot be switched while this hangs.
      var unswitchable: [String] { self == .expander || self == .everything ? ["spare", "baro"] : [] }
    }

    private func begin(_ hang: Hang) {
      if [.imu, .everything].contains(hang) { board.imuBus.setHanging(true) }
      if [.barometer, .everything].contains(hang) { board.spareBus.setHanging(true) }
      if [.expander, .everything].contains(hang) { board.expander.bus.setHanging(true) }
      if [.port, .everything].contains(hang) { board.port.setBlocked(true) }
    }

    /// The hub is told to end before and after it has noticed the hang.
    @Test(arguments: Hang.allCases, [1, 8])
    func `SIGTERM ends the hub within five seconds, whatever hangs`(_ hang: Hang, _ seconds: Int) throws {
      let hub = hub()
      // The receiver's commands wait from the start on a blocked line.
      if hang == .port { begin(hang) }
      let subscriber = Subscriber(hub)
      #expect(
        eventually {
          hub.devicesNow["gps"].counters["sentences"] ?? 0 > 0 && hub.devicesNow["imu"].power == "tracking"
        },
        "\(describe(hub))")
      #expect(eventually { hub.devicesNow["baro"].power == "tracking" }, "\(describe(hub))")
      if hang != .port { begin(hang) }
      wait(milliseconds: 1000 * seconds)
      let before = describe(hub)
      let ending = end(hub)
      #expect(ending <= HangTests.longestEnd, "\(hang), \(seconds) s: \(ending); before SIGTERM: \(before)")
      // The meter reads each line every two milliseconds.
      wait(milliseconds: 50)
      for id in HangTests.allDevices where !hang.unswitchable.contains(id) {
        #expect(!isOn(id), "\(hang), \(seconds) s: \(id) is on after the end; before SIGTERM: \(before)")
      }
      let levels = board.levels
      subscriber.leave()
      clearUp(after: hub, "\(hang), \(seconds) s")
      Bench.saw(
        "\(hang.rawValue) hangs for \(seconds) s: ended \(Bench.milliseconds(ending)) after SIGTERM, then \(levels)")
    }

    // MARK: The watchdog

    @Test func `a reader that the loss of its supply frees fails alone, and the watchdog stays silent`() throws {
      let pings = try NotifiedPings()
      let hub = hub(environment: pings.environment)
      let subscriber = Subscriber(hub)
      #expect(eventually { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
      for _ in 0..<3 {
        board.imuBus.setHanging(true, endsWithSupply: true)
        let began = clock.now
        #expect(eventually(within: .seconds(10)) { !isOn("imu") }, "the supply is not cut: \(describe(hub))")
        let cut = clock.now - began
        #expect(cut < HangTests.patience + HangTests.checks + .milliseconds(100), "\(cut)")
        #expect(eventually(within: .seconds(120)) { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
        #expect(hub.devicesNow["gps"].power != "failed", "\(describe(hub))")
      }
      wait(milliseconds: 30_000)
      let longest = pings.longestPause
      #expect(longest < pings.limit, "systemd would have ended the hub: \(longest) without a ping")
      Bench.saw(
        "3 hangs that end with the supply: each time on again, longest pause of the pings "
          + "\(Bench.milliseconds(longest))"
      )
      subscriber.leave()
      #expect(end(hub) <= HangTests.longestEnd)
      clearUp(after: hub, "hangs that end with the supply")
    }

    @Test func `the watchdog notices a reader that nothing frees`() throws {
      let pings = try NotifiedPings()
      let hub = hub(environment: pings.environment)
      let subscriber = Subscriber(hub)
      #expect(eventually { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
      board.imuBus.setHanging(true)
      #expect(eventually(within: .seconds(10)) { board.imuBus.hangsSince != nil }, "\(describe(hub))")
      let began = board.imuBus.hangsSince ?? clock.now
      #expect(eventually(within: .seconds(10)) { hub.devicesNow["imu"].power == "failed" }, "\(describe(hub))")
      let failed = clock.now - began
      let reason = hub.devicesNow["imu"].reason
      #expect(eventually(within: .seconds(1)) { !isOn("imu") }, "its supply is on: \(describe(hub))")
      // For systemd, a hub without a ping within its limit has failed.
      #expect(eventually(within: .seconds(60)) { clock.now - pings.latest >= pings.limit }, "\(describe(hub))")
      let lastPing = pings.latest - began
      // The reader counts as stuck, its supply is cut, and it has ten seconds to return. Then there are no more pings.
      let limit = HangTests.patience + HangTests.checks + .seconds(10) + .milliseconds(200)
      #expect(lastPing < limit, "last ping \(lastPing) after the hang began")
      #expect(lastPing > .seconds(9), "the watchdog gave up before the reader had time to return: \(lastPing)")
      // systemd aborts the process, which takes effect only when the transfer returns, and then kills it. Lines that
      // the hub held stay requested, because a process keeps its files open until its last thread has ended.
      let ending = end(hub, SIGKILL)
      subscriber.leave()
      let safe = Program(["safe", hub.boardFile])
      let code = safe.wait()
      let levels = board.levels
      Bench.saw(
        "a reader that nothing frees: failed after \(Bench.milliseconds(failed)) (\(reason)), last ping "
          + "\(Bench.milliseconds(lastPing)) after it began, ended \(Bench.milliseconds(ending)) after SIGKILL; safe "
          + "before it is free: exit \(code), \(levels)")
      clearUp(after: hub, "a reader that nothing frees")
    }

    // MARK: Standby

    @Test func `a standby IMU takes over from a hung one within its patience and a second`() throws {
      let hub = hub(["imu", "spare"])
      let subscriber = Subscriber(hub, parts: ["rates"])
      var wakes: [Duration] = []
      var rates: [Duration] = []
      for round in 0..<10 {
        #expect(
          eventually(within: .seconds(300)) {
            hub.devicesNow["imu"].power == "tracking" && hub.devicesNow["spare"].power == "off"
          }, "round \(round): \(describe(hub))")
        // A different point between two checks each time.
        wait(milliseconds: 97 * round)
        let spare = try line("spare")
        let rises = spare.rises.count
        subscriber.forget()
        board.imuBus.setHanging(true)
        #expect(eventually(within: .seconds(5)) { board.imuBus.hangsSince != nil }, "\(describe(hub))")
        let began = board.imuBus.hangsSince ?? clock.now
        let tookOver = eventually(within: .seconds(20)) {
          subscriber.states.contains { $0.rates?.source == "spare" }
        }
        #expect(tookOver, "round \(round): no rates of the standby IMU: \(describe(hub))")
        rates.append(clock.now - began)
        #expect(spare.rises.count == rises + 1, "round \(round): \(spare.all)")
        if let rise = spare.rises.last { wakes.append(rise - began) }
        #expect(!isOn("imu"), "round \(round): the hung IMU has its supply: \(describe(hub))")
        board.imuBus.setHanging(false)
      }
      wakes.sort()
      rates.sort()
      let (wake, rate) = (wakes.last ?? .zero, rates.last ?? .zero)
      #expect(wake <= HangTests.patience + HangTests.checks + .milliseconds(50), "\(wakes)")
      // The chip itself takes a tenth of a second to start, and the state is sent 50 times a second.
      #expect(rate <= HangTests.patience + HangTests.checks + .milliseconds(500), "\(rates)")
      Bench.saw(
        "10 hangs: the standby IMU has its supply after at most \(Bench.milliseconds(wake)), and its rates are in the "
          + "state after \(Bench.milliseconds(rates[rates.count / 2])) (median), at most \(Bench.milliseconds(rate))")
      subscriber.leave()
      #expect(end(hub) <= HangTests.longestEnd)
      clearUp(after: hub, "standby")
    }

    // MARK: The GPIO expander

    @Test func `a power line that fails on a GPIO expander is reported, and is low once the expander works again`()
      throws
    {
      let hub = hub(["imu", "baro"])
      // The line cannot be requested.
      board.expander.inject(.noAcknowledge)
      let subscriber = Subscriber(hub)
      #expect(eventually(within: .seconds(10)) { hub.devicesNow["baro"].power == "failed" }, "\(describe(hub))")
      let refused = hub.devicesNow["baro"].reason
      #expect(eventually { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
      board.expander.inject(nil)
      #expect(eventually(within: .seconds(120)) { hub.devicesNow["baro"].power == "tracking" }, "\(describe(hub))")
      // The line cannot be driven low.
      board.expander.inject(.noAcknowledge)
      subscriber.leave()
      #expect(eventually(within: .seconds(5)) { !isOn("imu") }, "\(describe(hub))")
      wait(milliseconds: 3000)
      let kept = hub.devicesNow["baro"]
      #expect(isOn("baro"), "the twin took a transfer that it did not acknowledge")
      #expect(kept.power != "off", "the hub takes a line for low that is high: \(describe(hub))")
      board.expander.inject(nil)
      let restored = clock.now
      #expect(eventually(within: .seconds(70)) { !isOn("baro") }, "the line stays high: \(describe(hub))")
      let low = clock.now - restored
      #expect(eventually(within: .seconds(5)) { hub.isOff }, "\(describe(hub))")
      Bench.saw(
        "an expander that does not answer: '\(refused)'; a line that could not be driven low is \(kept.power), and low "
          + "\(Bench.milliseconds(low)) after the expander answers again")
      #expect(end(hub) <= HangTests.longestEnd)
      clearUp(after: hub, "an expander that fails")
    }

    @Test func `a power line that hangs on a GPIO expander holds up no other device`() throws {
      let hub = hub(["gps", "imu", "baro"])
      board.expander.bus.setHanging(true)
      var subscriber = Subscriber(hub)
      for id in ["gps", "imu"] { #expect(eventually(within: .seconds(10)) { isOn(id) }, "\(id): \(describe(hub))") }
      #expect(eventually(within: .seconds(10)) { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
      #expect(eventually(within: .seconds(10)) { hub.devicesNow["baro"].power == "failed" }, "\(describe(hub))")
      let reason = hub.devicesNow["baro"].reason
      subscriber.leave()
      #expect(eventually(within: .seconds(5)) { !isOn("gps") && !isOn("imu") }, "\(describe(hub))")
      board.expander.bus.setHanging(false)
      #expect(eventually(within: .seconds(30)) { board.areLinesLow && hub.isOff }, "\(describe(hub))")
      // The line is driven low as the last client leaves.
      subscriber = Subscriber(hub)
      #expect(eventually(within: .seconds(120)) { hub.devicesNow["baro"].power == "tracking" }, "\(describe(hub))")
      board.expander.bus.setHanging(true)
      let left = clock.now
      subscriber.leave()
      #expect(eventually(within: .seconds(5)) { !isOn("gps") && !isOn("imu") }, "\(describe(hub))")
      let others = clock.now - left
      wait(milliseconds: 20_000)
      #expect(hub.devicesNow["baro"].power != "off", "the hub takes a line for low that is high: \(describe(hub))")
      // The others are served in the meantime.
      let next = Subscriber(hub, parts: ["rates"])
      #expect(eventually(within: .seconds(10)) { next.states.contains { $0.rates != nil } }, "\(describe(hub))")
      next.leave()
      board.expander.bus.setHanging(false)
      let freed = clock.now
      #expect(eventually(within: .seconds(70)) { board.areLinesLow }, "\(describe(hub))")
      let low = clock.now - freed
      #expect(eventually(within: .seconds(70)) { hub.isOff }, "\(describe(hub))")
      Bench.saw(
        "an expander that hangs: '\(reason)'; the other lines low \(Bench.milliseconds(others)) after the last client, "
          + "its own \(Bench.milliseconds(low)) after it is free")
      #expect(end(hub) <= HangTests.longestEnd)
      clearUp(after: hub, "an expander that hangs")
    }

    // MARK: Many visits

    private enum Fault: CaseIterable {
      case imuHangs, imuHangsUntilItsSupplyIsCut, spareAndBarometerHang, expanderHangs, expanderFails, portIsBlocked
    }

    private func begin(_ fault: Fault) {
      switch fault {
      case .imuHangs: board.imuBus.setHanging(true)
      case .imuHangsUntilItsSupplyIsCut: board.imuBus.setHanging(true, endsWithSupply: true)
      case .spareAndBarometerHang: board.spareBus.setHanging(true)
      case .expanderHangs: board.expander.bus.setHanging(true)
      case .expanderFails: board.expander.inject(.noAcknowledge)
      case .portIsBlocked: board.port.setBlocked(true)
      }
    }

    @Test func `a thousand visits among hangs leave every line low, and SIGTERM ends the hub within five seconds`()
      throws
    {
      var random = SeededRandom()
      var endings: [Duration] = []
      var rises = 0
      var counts: [Fault: Int] = [:]
      // In each round the hub is told to end in the middle of the last visit.
      for round in 0..<20 {
        let hub = hub()
        for number in 0..<50 {
          let isLast = number == 49
          let faults = randomFaults(atLeast: isLast ? 1 : 0, &random)
          for fault in faults { counts[fault, default: 0] += 1 }
          let what = "round \(round), visit \(number), \(faults)"
          let subscriber = Subscriber(hub)
          wait(milliseconds: .random(in: 0...100, using: &random))
          for fault in faults { begin(fault) }
          // Some hangs are long enough for the hub to notice.
          let isLong = isLast || number % 17 == 16
          wait(milliseconds: .random(in: 0...(isLong ? 8000 : 100), using: &random))
          if isLast {
            let before = describe(hub)
            let ending = end(hub)
            endings.append(ending)
            #expect(ending <= HangTests.longestEnd, "\(what): ended after \(ending); before SIGTERM: \(before)")
            wait(milliseconds: 50)
            #expect(!isOn("gps") && !isOn("imu"), "\(what): after SIGTERM \(board.levels); before it: \(before)")
          }
          if Bool.random(using: &random) { subscriber.leave() }
          board.free()
          subscriber.leave()
        }
        clearUp(after: hub, "round \(round)")
        rises += board.lines.values.reduce(0) { $0 + $1.rises.count }
      }
      // A hub that is not told to end switches everything off by itself.
      let hub = hub()
      for number in 0..<20 {
        let faults = randomFaults(atLeast: 1, &random)
        let subscriber = Subscriber(hub)
        wait(milliseconds: .random(in: 0...100, using: &random))
        for fault in faults { begin(fault) }
        wait(milliseconds: .random(in: 0...(number % 5 == 4 ? 8000 : 100), using: &random))
        subscriber.leave()
        board.free()
      }
      #expect(eventually(within: .seconds(120)) { board.areLinesLow }, "with no client left: \(describe(hub))")
      #expect(eventually(within: .seconds(120)) { hub.openDevices.isEmpty }, "\(hub.openDevices), \(describe(hub))")
      endings.sort()
      Bench.saw(
        "1000 visits, \(counts.values.reduce(0, +)) hangs and faults, \(rises) rises: lines low; 20 ends in the middle "
          + "of a visit: \(Bench.milliseconds(endings[10])) after SIGTERM (median), "
          + "\(Bench.milliseconds(endings[19])) at most")
      #expect(end(hub) <= HangTests.longestEnd)
      clearUp(after: hub, "the last hub")
    }

    /// Up to three faults at once.
    private func randomFaults(atLeast least: Int, _ random: inout SeededRandom) -> [Fault] {
      let count = Int.random(in: least...3, using: &random)
      return Array(Fault.allCases.shuffled(using: &random).prefix(count))
    }
  }
}

/// Receives the watchdog's pings in place of systemd.
private final class NotifiedPings: Sendable {
  let limit = Duration.seconds(4)
  private let folder = TemporaryFolder("notify")
  private let times = PingTimes()

  init() throws {
    let path = "\(folder.path)/socket"
    let times = times
    let isBound = WakeSignal()
    let error = DetachedThread.start("notify") {
      let socket = DatagramSocket(path)
      isBound.raise()
      // The kernel queues only ten messages. A hub whose messages are not read would wait.
      while !times.stop.isSet {
        if socket.texts().contains(where: { $0.contains("WATCHDOG=1") }) {
          times.all.withLock { $0.append(MonotonicClock().now) }
        }
        _ = poll(nil, 0, 20)
      }
    }
    try #require(error == 0)
    isBound.wait()
  }

  deinit { times.stop.set() }

  var environment: [String] {
    ["NOTIFY_SOCKET=\(folder.path)/socket", "WATCHDOG_USEC=\(limit.inNanoseconds / 1000)"]
  }

  /// When the latest ping came; the beginning of time if none has.
  var latest: MonotonicInstant { times.all.withLock { $0.last } ?? MonotonicInstant(nanoseconds: 0) }

  /// The longest time without a ping, up to now.
  var longestPause: Duration {
    let all = times.all.withLock { $0 } + [MonotonicClock().now]
    return zip(all, all.dropFirst()).map { $1 - $0 }.max() ?? .zero
  }
}

/// What `NotifiedPings` shares with its thread, which may outlive it.
private final class PingTimes: Sendable {
  let all = Guarded([MonotonicInstant]())
  let stop = StopSignal()
}
