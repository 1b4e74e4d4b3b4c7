import Devices
import Fusion
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import NMEA
import Publishing
import TestSupport
import Testing

@testable import Outputs
@testable import Recording

/// The fusion's recorded inputs reproduce the same states, however the devices' threads interleaved.
struct InputReplayTests {
  private static let gps = "gps: { driver: 'nmea', port: 'nowhere' }"
  private static let others = """
    mag: { driver: 'lis3mdl', bus: 'nowhere' }, meter: { driver: 'ina226', bus: 'nowhere' }
    """

  private static let ahead = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"
  private static let astern = "[[-1, 0, 0], [0, -1, 0], [0, 0, 1]]"

  private static func board(_ mount: String, rateHz: Int = 100, barometerHz: Int = 5) throws -> Board {
    let imu = "imu: { driver: 'mpu-6050', bus: 'nowhere', rateHz: \(rateHz), mount: \(mount) }"
    let baro = "baro: { driver: 'bme280', bus: 'nowhere', rateHz: \(barometerHz) }"
    let devices = "{ \(gps), \(imu), \(baro), \(others) }"
    return try Board(json5: Array("{ name: 'test', devices: \(devices) }".utf8), file: "test")
  }

  @Test func `several devices, clients that come and go, and two reloads are replayed byte for byte, each time`()
    async throws
  {
    let boards = [
      try InputReplayTests.board(InputReplayTests.ahead), try InputReplayTests.board(InputReplayTests.astern),
      // The fusion's run continues through the change to this board.
      try InputReplayTests.board(InputReplayTests.astern, barometerHz: 10),
    ]
    let live = LiveFusion(boards[0])
    for tick in 0..<600 {
      await live.pass(tick) {
        switch tick {
        case 20, 220, 450: live.come(1)
        case 60: live.come(2)
        case 100, 400, 590: live.leave(1)
        case 160, 500: live.leave(2)
        case 300: live.come(2)
        default: break
        }
      }
      if tick == 350 { live.serve(boards[1]) }
      if tick == 470 { live.serve(boards[2]) }
    }
    live.end()
    #expect(live.states.values.count > 1000)
    expectReplayed(live, times: 20)
  }

  /// The variable `SENSORHUB_REPLAYS=20` sets the number of replays. `Benchmarks/recorder SENSORHUB replays` does the
  /// same with the program, in real time.
  @Test func `ten minutes with clients that come and go and two reloads are replayed byte for byte`() async throws {
    let boards = [
      try InputReplayTests.board(InputReplayTests.ahead, rateHz: 50),
      try InputReplayTests.board(InputReplayTests.astern, rateHz: 50),
    ]
    let live = LiveFusion(boards[0], sampleRates: .ofMinutes)
    for tick in 0..<6000 {
      await live.pass(tick) {
        // Clients connect at many phases of the devices' measurements, and sometimes there is none.
        switch tick % 670 {
        case 20, 340: live.come(1)
        case 240, 600: live.leave(1)
        case 130, 460: live.come(2)
        case 280, 580: live.leave(2)
        default: break
        }
      }
      if tick == 2150 { live.serve(boards[1]) }
      if tick == 4200 { live.serve(boards[0]) }
    }
    live.end()
    #expect(live.recorded.count == 3)
    #expect(live.states.values.count > 5000)
    expectReplayed(live, times: getenv("SENSORHUB_REPLAYS").flatMap { Int(String(cString: $0)) } ?? 2)
  }

  /// Replays the recording, and finds each state that the client received in each of the replays.
  private func expectReplayed(_ live: LiveFusion, times count: Int) {
    let (states, messages) = (live.states.values, live.recorded)
    #expect(states.contains { $0.contains("\"position\"") && $0.contains("\"attitude\"") })
    // The inputs are in the order of their instants, as in a file, and no two have the same instant.
    for part in messages { #expect(zip(part.inputs, part.inputs.dropFirst()).allSatisfy { $0.at < $1.at }) }
    let first = replay(messages)
    let places = Dictionary(first.enumerated().map { ($1, $0) }, uniquingKeysWith: { one, _ in one })
    let found = states.compactMap { places[$0] }
    #expect(found.count == states.count && found == found.sorted(), "\(states.count - found.count) are missing")
    var equalCount = 1
    for _ in 1..<count where replay(messages) == first { equalCount += 1 }
    #expect(equalCount == count, "\(equalCount) of \(count)")
  }

  /// Plays the inputs to a hub and returns its states as its socket sends them.
  private func replay(_ parts: [LiveFusion.Part]) -> [String] {
    let messages = parts.flatMap { part in
      var all = part.inputs.map { $0.message(on: part.board) }
      if var change = all.first {
        change.content = .board(part.board)
        all.insert(change, at: 0)
      }
      return all
    }
    guard let first = messages.first else { return [] }
    let stage = ReplayStage(first: first, board: parts[0].board)
    let host = HubHost(Hub(board: parts[0].board, on: stage.machine), version: "test")
    let states = Recorder<String>()
    let subscription = host.hub.state(parts: []).subscribe(
      as: "test", receiveValue: { states.append(LiveFusion.text($0)) })
    let boards = stage.boards.subscribe(as: "test", receiveValue: { host.serveReplay(on: $0) })
    defer {
      subscription.cancel()
      boards.cancel()
    }
    var player = ReplayPlayer(on: stage)
    for message in messages { player.play(message) }
    player.end()
    return states.values
  }

  @Test func `the state after the position of a lost receiver is too old is replayed byte for byte`() async throws {
    let (terminal, clock) = (PseudoTerminal(), ManualClock())
    let power = "power: { switch: 'none', lingerSeconds: 0 }"
    let gps = "gps: { driver: 'nmea', port: '\(terminal.path)', speed: 9600, \(power) }"
    let board = try Board(json5: Array("{ name: 'test', devices: { \(gps) } }".utf8), file: "test")
    let hub = Hub(board: board, hardware: LinuxHardware(), clock: clock)
    let (inputs, states) = (Recorder<LiveFusion.Input>(), Recorder<String>())
    let recording = hub.record(to: PartRecorder(append: { inputs.append($0) }), as: "test", wakes: false)
    let client = hub.state(parts: .all).subscribe(
      as: "client", receiveValue: { states.append(LiveFusion.text($0)) })
    #expect(hub.waits { hub.devices[0].power == .acquiring })
    for second in 10...11 {
      terminal.write(nmeaLine("GPRMC,1200\(second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A"))
    }
    #expect(states.waits { $0.last?.contains("\"position\"") == true })
    #expect(hub.waits { hub.devices[0].counters.contains { $0.name == "epochs" && $0.value == 2 } })
    terminal.hangUp()
    #expect(hub.waits { hub.devices[0].power == .failed })
    clock.run(until: clock.now + .seconds(6))
    #expect(states.waits { $0.last?.contains("\"mode\":\"none\"") == true }, "\(states.values)")
    client.cancel()
    recording.end()
    #expect(replay([LiveFusion.Part(board: board, inputs: inputs.values)]) == states.values)
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `an expiry is recorded as an object that versions without expiries skip`() throws {
    let clock = ManualClock()
    let time = RecordingTime(clock: clock) { 1_800_000_000_000_000_000 + clock.now.nanoseconds }
    let inbox = RecordInbox(time: time, counters: RecordingCounters(), report: { _ in })
    let inputs = RecordedInputs(of: try InputReplayTests.board(InputReplayTests.ahead), in: inbox)
    inputs.append(.expiry, at: clock.now)
    var bytes: [UInt8] = []
    let message = inbox.take(into: &bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(message?.channel.topic == "/fusion" && text.hasPrefix("{\"expiry\":true,\"monotonic\":"), "\(text)")
    // Those versions require this member, and take it for the beginning or end of a run.
    #expect(!text.contains("underWay"))
  }

  @Test func `an epoch is recorded bit for bit`() throws {
    var quality = FusedState.FixQuality(mode: 3, status: 4, satellitesUsed: 17, hdop: 0.1 + 0.2, utcNanoseconds: -1)
    quality.isTimeConfirmed = true
    quality.correctionAgeSeconds = .infinity
    quality.reception = Reception(jamming: .critical, spoofing: .multiple, jammingIndicator: 255)
    quality.receiverFusion = .disabled
    let position = FusedState.Position(
      latitudeDegrees: 52.1 / 3, longitudeDegrees: -0.0, altitudeHAEMetres: nil, altitudeMSLMetres: 1e-300,
      horizontalSigmaMetres: .greatestFiniteMagnitude, verticalSigmaMetres: nil)
    let motion = FusedState.Motion(speedMetresPerSecond: 1 / 3, trackDegrees: nil, climbMetresPerSecond: -1e-9)
    for epoch in [
      ReceiverEpoch(
        at: MonotonicInstant(nanoseconds: .max), quality: quality, position: position, motion: motion,
        heading: StatedHeading(degrees: 100 / 3, sigmaDegrees: 1e-300)),
      ReceiverEpoch(
        at: MonotonicInstant(nanoseconds: 1),
        quality: .init(mode: 0, status: 0, satellitesUsed: nil, hdop: nil, utcNanoseconds: nil), position: nil,
        motion: nil),
    ] {
      var bytes: [UInt8] = []
      RecordedEpoch.append(epoch, to: &bytes)
      #expect(bytes.count == RecordedEpoch.byteCount)
      let read = try #require(RecordedEpoch.read(bytes[...]))
      #expect(read.at == epoch.at && read.quality == epoch.quality)
      #expect(read.position == epoch.position && read.motion == epoch.motion && read.heading == epoch.heading)
      #expect(RecordedEpoch.read(bytes.dropLast()) == nil)
    }
  }
}

/// A hub whose devices all measure at the same instants on their own threads, and its recording.
private final class LiveFusion: Sendable {
  struct Input: Sendable {
    var input: FusionInput
    var at: MonotonicInstant
  }

  /// The rates at which the devices measure.
  struct SampleRates: Sendable {
    /// The time between two ticks. The IMU measures five samples in each.
    var interval: Duration
    /// The number of ticks between two measurements of the magnetometer.
    var magnetometer = 1
    var barometer = 1
    var supplyMonitor = 1
    var receiver = 20

    static let ofSeconds = SampleRates(interval: .milliseconds(50))
    static let ofMinutes = SampleRates(
      interval: .milliseconds(100), magnetometer: 1, barometer: 2, supplyMonitor: 10, receiver: 10)
  }

  /// The recording of one board.
  struct Part: Sendable {
    var board: Board
    var inputs: [Input] = []
  }

  let states = Recorder<String>()
  private let feed = ReplayFeed()
  private let clock = ManualClock(now: MonotonicInstant(nanoseconds: 20_000_000_000))
  private let sampleRates: SampleRates
  private let host: HubHost
  private let parts = Guarded<[Part]>([])
  private let recording = Guarded<HubRecording?>(nil)
  private let clients = Guarded<[Int: Subscription]>([:])

  init(_ board: Board, sampleRates: SampleRates = .ofSeconds) {
    self.sampleRates = sampleRates
    host = HubHost(
      Hub(board: board, on: Machine(replaying: feed, clock: clock, systemTime: { 1_800_000_000_000_000_000 })),
      version: "test")
    record(host.hub)
  }

  static func text(_ state: FusedState) -> String {
    var json = JSONWriter(capacity: 2048)
    StateReport.write(state, to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  var recorded: [Part] {
    parts.withLock { parts in
      parts.map { Part(board: $0.board, inputs: $0.inputs.sorted { $0.at < $1.at }) }
    }
  }

  private func record(_ hub: Hub) {
    let before = recording.withLock { $0 }
    parts.withLock { $0.append(Part(board: hub.board)) }
    let new = hub.record(
      to: PartRecorder(append: { [self] in append($0) }), as: "test", wakes: true, continuing: before)
    recording.withLock { $0 = new }
  }

  private func append(_ input: Input) { parts.withLock { $0[$0.count - 1].inputs.append(input) } }

  /// Replaces the board in service.
  func serve(_ board: Board) {
    // A recorder moves to the new board before its first run begins, and devices that both boards have measure in between.
    let move = host.hub.registry.subscribe(
      as: "test",
      receiveValue: { [self] devices in
        guard devices.board == board else { return }
        record(host.hub)
        feed.magnetometer("mag").send(MagnetometerSample(at: clock.now, field: SIMD3(20, 0, 43)))
      })
    host.serveReplay(on: board)
    move.cancel()
  }

  func come(_ client: Int) {
    let new = host.hub.state(parts: .all).subscribe(
      as: "client", receiveValue: { [states] in if client == 1 { states.append(LiveFusion.text($0)) } })
    clients.withLock { $0[client] = new }
  }

  func leave(_ client: Int) {
    let old = clients.withLock { $0.removeValue(forKey: client) }
    old?.cancel()
  }

  func end() {
    for client in [1, 2] { leave(client) }
    recording.withLock { $0 }?.end()
  }

  /// Passes an interval. At its end all due devices measure at once while something else happens.
  func pass(_ tick: Int, while happens: @escaping @Sendable () -> Void) async {
    clock.advance(by: sampleRates.interval)
    let now = clock.now
    await withTaskGroup(of: Void.self) { group in
      group.addTask { happens() }
      group.addTask { [feed, sampleRates] in
        feed.imu("imu").send(LiveFusion.batch(tick, now, every: sampleRates.interval / 5))
      }
      if tick % sampleRates.magnetometer == 0 {
        group.addTask { [feed] in
          let turn = Float(tick % 1200) / 100
          feed.magnetometer("mag").send(MagnetometerSample(at: now, field: SIMD3(20 - turn, turn, 43)))
        }
      }
      if tick % sampleRates.barometer == 0 {
        group.addTask { [feed] in
          feed.barometer("baro").send(
            BarometerSample(
              at: now, pressurePascals: 100_000 - Double(tick) / 7, temperatureCelsius: 20, humidityPercent: nil))
        }
      }
      if tick % sampleRates.supplyMonitor == 0 {
        group.addTask { [feed] in
          feed.supplyMonitor("meter").send(SupplySample(at: now, volts: 5 - Double(tick) / 1e4, shuntVolts: 0.01))
        }
      }
      guard tick % sampleRates.receiver == 0 else { return }
      group.addTask { [feed, sampleRates] in
        let text = LiveFusion.sentences(tick / sampleRates.receiver)
        feed.receiver("gps").send(ReceivedBytes(bytes: Array(text.utf8), beganAt: now, readAt: now))
      }
    }
  }

  private static func batch(_ tick: Int, _ now: MonotonicInstant, every interval: Duration) -> IMUBatch {
    var batch = IMUBatch()
    for index in 0..<5 {
      let phase = Float((tick * 5 + index) % 97) / 97
      batch.append(
        IMUSample(
          at: now + interval * (index - 4), gyroscope: SIMD3(0.01 * phase, -0.02 * phase, 0.1),
          accelerometer: SIMD3(0.3 * phase, 0.1, 9.81 + 0.05 * phase)))
    }
    batch.readAt = now
    return batch
  }

  /// The RMC and GGA of the epoch `second` seconds after noon. At most 999, because the minutes have four decimals.
  private static func sentences(_ second: Int) -> String {
    func digits(_ number: Int, _ count: Int) -> String {
      let text = "\(number)"
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let time = "12\(digits(second / 60, 2))\(digits(second % 60, 2)).00"
    let minutes = "5231.\(digits(second * 10, 4))"
    return sentence("GPRMC,\(time),A,\(minutes),N,01322.0000,E,3.6,0.0,231126,,,A")
      + sentence("GPGGA,\(time),\(minutes),N,01322.0000,E,1,09,0.9,40.0,M,42.0,M,,")
  }

  private static func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count == 1 ? "0" : "")\(sum)\r\n"
  }
}

/// Records the inputs.
private struct PartRecorder: HubRecorder {
  let append: @Sendable (LiveFusion.Input) -> Void

  func sentences(of id: String) -> @Sendable (ReceivedBytes) -> Void { { _ in } }

  func inputs(on board: Board) -> @Sendable (FusionInput, MonotonicInstant) -> Void {
    { append(LiveFusion.Input(input: $0, at: $1)) }
  }
}

extension LiveFusion.Input {
  /// Returns the message as it is read from a recording.
  func message(on board: Board) -> ReplayedMessage {
    let names = DeviceNames(board.devices.map(\.id))
    var (place, content): (Int?, ReplayedMessage.Content)
    switch input {
    case .begin(let knowledge):
      let source = knowledge.position.map { names.text($0.source) } ?? ""
      (place, content) = (nil, .begin(knowledge, positionSource: source))
    case .end: (place, content) = (nil, .end)
    case .expiry: (place, content) = (nil, .expiry)
    case .epoch(let device, let epoch): (place, content) = (device, .epoch(epoch))
    case .imu(let device, let batch): (place, content) = (device, .batch(batch))
    case .field(let device, let sample): (place, content) = (device, .magneticField(sample))
    case .air(let device, let sample): (place, content) = (device, .air(sample))
    case .supply(let device, let sample): (place, content) = (device, .supply(sample))
    }
    return ReplayedMessage(
      at: at, systemNanosecondsSince1970: 1_800_000_000_000_000_000 + at.nanoseconds,
      device: place.map { board.devices[$0].id } ?? "", content: content)
  }
}
