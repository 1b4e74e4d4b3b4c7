import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// A board that sleeps, with a clock that the test moves, a real-time clock and a logind of its own.
final class BoardSleepBench {
  /// Records the requests, and refuses the first ones.
  final class Logind: BoardPower {
    let requests = Recorder<BoardSleepSettings.Way>()
    let refusals = Guarded<[ShutdownRefusal]>([])
    /// Counts each question as an event, once a refusal has been given.
    let questions = News()
    let loggedIn = Guarded<String?>(nil)
    let hidesUsers = Guarded(false)
    /// The answer to each request.
    let answer = Guarded<ShutdownRefusal?>(nil)

    func refusal(of way: BoardSleepSettings.Way) -> ShutdownRefusal? {
      defer { questions.came() }
      return refusals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func begin(_ way: BoardSleepSettings.Way) -> ShutdownRefusal? {
      requests.append(way)
      return answer.withLock { $0 }
    }

    func user() throws(ShutdownRefusal) -> String? {
      if hidesUsers.withLock({ $0 }) { throw LogindPower.unknownUsers(errno: EACCES) }
      return loggedIn.withLock { $0 }
    }
  }

  /// A real-time clock that is an hour ahead of the system clock.
  final class FakeClock: WakeClock {
    /// The alarm; `nil` if it is off.
    let set = MutableProperty<Int64?>(nil)
    let isMissing = Guarded(false)
    let losesAlarm = Guarded(false)
    /// After this number of readings another program switches the alarm off.
    let readings = Guarded(Int.max)
    /// The kernel rounds alarms down to multiples of this number of seconds.
    let step = Guarded<Int64>(1)
    private let system: @Sendable () -> Int64

    init(_ system: @escaping @Sendable () -> Int64) { self.system = system }

    var problem: WakeClockError? {
      isMissing.withLock { $0 } ? WakeClockError("there is no /dev/rtc0") : nil
    }

    func now() throws(WakeClockError) -> Int64 { system() / 1_000_000_000 + 3600 }
    func alarm() throws(WakeClockError) -> Int64? {
      let isLost = readings.withLock { left in
        left -= 1
        return left < 0
      }
      return isLost || losesAlarm.withLock { $0 } ? nil : set.value
    }
    func setAlarm(_ instant: Int64?) throws(WakeClockError) {
      let step = step.withLock { $0 }
      set.value = instant.map { $0 - $0 % step }
    }
  }

  final class Notebook: LogDestination {
    let entries = Recorder<LogEntry>()
    func write(_ entry: LogEntry) { entries.append(entry) }
    var lines: [String] { entries.values.map(\.message) }
    /// Waits for a line, because lines are written on another thread.
    func has(_ text: String) -> Bool { entries.waits { $0.contains { $0.message.contains(text) } } }
  }

  /// The values that a test sets.
  final class Surroundings: Sendable {
    /// The time asleep, nanoseconds.
    let slept = Guarded<Int64>(0)
    let isConfirmed = Guarded(true)
    /// The simulated devices of most tests count as real ones.
    let isReal = Guarded(true)
  }

  let clock: ManualClock
  let surroundings = Surroundings()
  let host: HubHost
  let logind = Logind()
  let rtc: FakeClock
  let notebook = Notebook()
  let hardware = SimulatedHardware()
  let saves = Recorder<Int>()
  let fixes = Recorder<MonotonicInstant>()
  let file: BoardSleepFile
  let output: BoardSleepOutput
  let system: @Sendable () -> Int64
  private var watch: Subscription?
  private var request: Subscription?

  static let keys = "board: 'suspend', idle: 30, afterStart: 0"

  init(
    _ keys: String = BoardSleepBench.keys, folder: TemporaryFolder, from seconds: Int64 = 1201,
    port: String = "simulated/gps"
  ) throws {
    let clock = ManualClock(now: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
    self.clock = clock
    let surroundings = self.surroundings
    let system: @Sendable () -> Int64 = {
      1_795_478_400_000_000_000 + clock.now.nanoseconds + surroundings.slept.withLock { $0 }
    }
    self.system = system
    rtc = FakeClock(system)
    let machine = Machine(hardware: hardware, clock: clock, systemTime: system)
    host = HubHost(Hub(board: try BoardSleepBench.board(keys, port: port), on: machine), version: "test")
    file = BoardSleepFile(path: "\(folder.path)/sleep.json", makeFolder: {})
    output = BoardSleepOutput(
      host: host, sink: JournalSink(to: notebook), file: file, power: logind,
      surroundings: BoardSleepOutput.Surroundings(
        clock: { [rtc] _ in rtc }, isTimeConfirmed: { _ in surroundings.isConfirmed.withLock { $0 } },
        isReal: { _ in surroundings.isReal.withLock { $0 } }, save: { [saves] in saves.append(1) }))
  }

  static func board(_ keys: String, port: String = "simulated/gps") throws -> Board {
    let text = """
      { name: 'x', devices: { gps: { driver: 'nmea', port: '\(port)',
          power: { switch: 'gpio', chip: 'simulated', line: 'gps-power', lingerSeconds: 0 } } },
        fusion: { devices: [] }, sleep: { \(keys) } }
      """
    return try Board(json5: Array(text.utf8), file: "test")
  }

  /// Begins as the program does: first the sleep, then a request. No receiver is fused, so time runs out for each fix.
  func begin(requests: Bool = true) {
    output.begin()
    if requests {
      request = host.hub.fixes(on: Schedule(every: .seconds(600), within: .seconds(20))).subscribe(
        as: "request log", receiveValue: { [fixes] in fixes.append($0.due) })
    }
    watch = output.observe()
    pass(0.1)
  }

  func pass(_ seconds: Double) { clock.run(until: clock.now + .nanoseconds(Int64(seconds * 1e9))) }

  /// Suspends the machine until the alarm, and some seconds more.
  func sleep(late: Int64 = 2) throws {
    let alarm = try #require(rtc.set.value)
    sleep(for: Double(alarm - 3600 + late) - Double(system()) / 1e9)
  }

  func sleep(for seconds: Double) {
    surroundings.slept.withLock { $0 += Int64(seconds * 1e9) }
    clock.suspend(for: .nanoseconds(Int64(seconds * 1e9)))
    pass(0.1)
  }

  func end() async {
    watch?.cancel()
    request?.cancel()
    host.shutDown()
    await host.hub.isOff()
  }
}
