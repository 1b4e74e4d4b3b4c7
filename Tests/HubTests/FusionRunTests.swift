import Devices
import Fusion
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The recorder's view of the fusion's inputs: the instant of each, and which belong to a run.
struct FusionRunTests {
  private let feed = ReplayFeed()
  private let clock = ManualClock(now: MonotonicInstant(nanoseconds: 10_000_000_000))

  private func board(_ devices: String) throws -> Board {
    try Board(json5: Array("{ name: 'test', devices: { \(devices) } }".utf8), file: "test")
  }

  private func hub(_ devices: String) throws -> Hub {
    Hub(
      board: try board(devices),
      on: Machine(replaying: feed, clock: clock, systemTime: { 1_800_000_000_000_000_000 }))
  }

  /// Delivers a measurement that was made some time ago.
  private func measure(_ pascals: Double, millisecondsAgo: Int64 = 0) {
    let at = MonotonicInstant(nanoseconds: clock.now.nanoseconds - millisecondsAgo * 1_000_000)
    feed.barometer("baro").send(
      BarometerSample(at: at, pressurePascals: pascals, temperatureCelsius: 20, humidityPercent: nil))
  }

  @Test func `a measurement that comes too late for the last fusion run is recorded after the end of that run`() throws
  {
    let hub = try hub("baro: { driver: 'bme280', bus: 'simulated/i2c' }")
    let recorder = InputRecorder()
    let recording = hub.record(to: recorder, as: "test", wakes: true)
    defer { recording.end() }
    measure(100_000)
    clock.advance(by: .seconds(1))
    let states = Recorder<FusedState>()
    let watch = hub.state.subscribe(as: "watch", receiveValue: { states.append($0) })
    clock.advance(by: .seconds(1))
    measure(100_001, millisecondsAgo: 20)
    clock.advance(by: .seconds(1))
    watch.cancel()
    let end = hub.fusionRun.value
    measure(100_002, millisecondsAgo: 20)
    clock.advance(by: .seconds(1))
    measure(100_003)
    #expect(states.values.map { $0.air?.value.pressurePascals } == [100_001])
    let recorded = recorder.air
    #expect(recorded.map(\.pascals) == [100_000, 100_001, 100_002, 100_003])
    try #require(recorded.count == 4)
    #expect(!end.isUnderWay && recorded[1].at < end.since && recorded[2].at > end.since)
    #expect(recorded[3].at == clock.now)
    let inputs = recorder.inputs.values
    #expect(inputs.map(\.input.name) == ["air", "begin", "air", "end", "air", "air"])
    #expect(zip(inputs, inputs.dropFirst()).allSatisfy { $0.at < $1.at })
  }

  @Test func `a reload ends the fusion's run only if it changes what is fused`() throws {
    func devices(mount: String, rateHz: Int) -> String {
      """
      gps: { driver: 'nmea', port: 'nowhere' }, imu: { driver: 'mpu-6050', bus: 'nowhere', mount: \(mount) },
      baro: { driver: 'bme280', bus: 'nowhere', rateHz: \(rateHz) },
      meter: { driver: 'ina226', bus: 'nowhere', rateHz: \(rateHz) }
      """
    }
    let (ahead, astern) = ("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "[[-1, 0, 0], [0, -1, 0], [0, 0, 1]]")
    let hub = try hub(devices(mount: ahead, rateHz: 5))
    let recorder = InputRecorder()
    let recording = hub.record(to: recorder, as: "test", wakes: true)
    let states = Recorder<FusedState>()
    let watch = hub.state.subscribe(as: "watch", receiveValue: { states.append($0) })
    defer { watch.cancel() }
    clock.advance(by: .seconds(1))
    measure(100_000)
    let run = hub.fusionRun.value
    hub.exchangeBoard(for: try board(devices(mount: ahead, rateHz: 10)))
    let next = hub.record(to: recorder, as: "test", wakes: true, continuing: recording)
    defer { next.end() }
    #expect(run.isUnderWay && hub.fusionRun.value == run)
    clock.advance(by: .seconds(1))
    measure(100_001)
    #expect(states.values.map { $0.air?.value.pressurePascals } == [100_000, 100_001])
    #expect(recorder.inputs.values.map(\.input.name) == ["begin", "air", "air"])
    hub.exchangeBoard(for: try board(devices(mount: astern, rateHz: 10)))
    #expect(hub.fusionRun.value.isUnderWay && hub.fusionRun.value.since > run.since)
    #expect(recorder.inputs.values.map(\.input.name) == ["begin", "air", "air", "begin"])
  }

  @Test func `a reload does not keep a warning that no longer applies`() throws {
    let (ahead, astern) = ("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "[[-1, 0, 0], [0, -1, 0], [0, 0, 1]]")
    func devices(mount: String) -> String {
      """
      imu: { driver: 'mpu-6050', bus: 'nowhere', mount: \(mount) }, baro: { driver: 'bme280', bus: 'nowhere' }
      """
    }
    let hub = try hub(devices(mount: ahead))
    let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    defer { watch.cancel() }
    let monitor = try #require(hub.monitors.first { $0.id == "baro" })
    // The pressure at 5,570 m, higher than any settlement.
    measure(50_000)
    #expect(monitor.status.warning?.contains("impossible for air") == true)
    hub.exchangeBoard(for: try board(devices(mount: astern)))
    #expect(hub.monitors.contains { $0 === monitor })
    clock.advance(by: .seconds(1))
    measure(100_000)
    #expect(monitor.status.warning == nil)
    // A device that is no longer fused gives no input that could withdraw the warning.
    hub.exchangeBoard(for: try board(devices(mount: ahead)))
    clock.advance(by: .seconds(1))
    measure(50_000)
    #expect(monitor.status.warning != nil)
    let text = "{ name: 'test', fusion: { devices: ['imu'] }, devices: { \(devices(mount: ahead)) } }"
    hub.exchangeBoard(for: try Board(json5: Array(text.utf8), file: "test"))
    #expect(hub.monitors.contains { $0 === monitor })
    #expect(monitor.status.warning == nil)
  }

  @Test func `an epoch that ended with a silence is replayed with the instant of that silence`() throws {
    let hub = try hub("gps: { driver: 'nmea', port: 'nowhere' }")
    let epochs = Recorder<MonotonicInstant>()
    let subscription = hub.epochs.subscribe(as: "test", receiveValue: { epochs.append($0.receivedAt) })
    defer { subscription.cancel() }
    clock.run(until: instant(0))
    feed.receiver("gps").send(
      ReceivedBytes(bytes: Array(gga(0).utf8), beganAt: instant(0), readAt: instant(0)))
    #expect(epochs.values.isEmpty)
    clock.run(until: instant(2))
    #expect(epochs.values == [instant(0.3)])
  }

  /// Makes the receiver report an epoch each second from 0 on.
  private func report(_ seconds: Range<Int>, hasFix: Bool = true) {
    for second in seconds {
      let (at, text) = (instant(Double(second)), hasFix ? gga(second) : ggaWithoutFix(second))
      clock.run(until: at)
      feed.receiver("gps").send(ReceivedBytes(bytes: Array(text.utf8), beganAt: at, readAt: at))
      // The clock runs until a silence has ended the epoch.
      clock.run(until: instant(Double(second) + 0.7))
    }
  }

  @Test func `an expiry follows a failure once, unless another input comes first`() throws {
    let hub = try hub("gps: { driver: 'nmea', port: 'nowhere' }")
    let (log, recorder) = (hub.states.log, InputRecorder())
    let recording = hub.record(to: recorder, as: "test", wakes: false)
    defer { recording.end() }
    func events() -> [String] { recorder.inputs.values.map(\.input.name).filter { $0 != "epoch" } }
    let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    report(0..<2)
    log.deviceFailed(of: log.boardNumber)
    report(2..<8)
    clock.run(until: instant(20))
    #expect(events() == ["begin"] && hub.lastState.value?.mode == .gnss)
    log.deviceFailed(of: log.boardNumber)
    #expect(events() == ["begin", "expiry"] && hub.lastState.value?.mode == FusedState.Mode.none)
    log.deviceFailed(of: log.boardNumber)
    watch.cancel()
    log.deviceFailed(of: log.boardNumber)
    clock.run(until: instant(60))
    #expect(events() == ["begin", "expiry", "end"])
  }

  @Test func `the epoch with which a fusion run begins is recorded again at its beginning`() throws {
    let hub = try hub("gps: { driver: 'nmea', port: 'nowhere' }")
    let recorder = InputRecorder()
    let recording = hub.record(to: recorder, as: "test", wakes: true)
    defer { recording.end() }
    report(0..<2)
    clock.run(until: instant(1.8))
    let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    report(2..<3)
    watch.cancel()
    report(3..<4)
    #expect(recorder.inputs.values.map(\.input.name) == ["epoch", "epoch", "begin", "epoch", "epoch", "end", "epoch"])
    #expect(recorder.epochs.map(\.epochAt) == [instant(0), instant(1), instant(1), instant(2), instant(3)])
    // By then the hub has learned which sentence ends an epoch.
    #expect(recorder.epochs.dropFirst(2).prefix(2).map(\.at) == [instant(1.800001), instant(2)])
  }

  @Test func `an observer that joins during a fusion run gets its beginning, with the known facts`() throws {
    let hub = try hub("gps: { driver: 'nmea', port: 'nowhere' }")
    let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    defer { watch.cancel() }
    report(0..<3)
    let recorder = InputRecorder()
    let recording = hub.record(to: recorder, as: "test", wakes: false)
    defer { recording.end() }
    guard case .begin(let knowledge)? = recorder.inputs.values.first?.input else {
      Issue.record("\(recorder.inputs.values)")
      return
    }
    #expect(knowledge.position?.at == instant(2))
  }

  @Test func `after a run whose position became too old, the last known position is from that run`() throws {
    let hub = try hub("gps: { driver: 'nmea', port: 'nowhere' }")
    hub.state.subscribe(as: "watch", receiveValue: { _ in }).cancel()
    #expect(hub.lastState.value?.mode == .asleep && hub.lastKnownPosition == nil)
    for seconds in [0..<3, 5..<7] {
      let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
      report(seconds)
      if seconds.lowerBound > 0 { clock.run(until: instant(60)) }
      watch.cancel()
    }
    let asleep = try #require(hub.lastState.value)
    #expect(asleep.mode == .asleep && asleep.position?.at == instant(6))
    #expect(hub.lastKnownPosition == asleep.position?.value)
  }

  @Test func `the position that a receiver has lost is the last known one, in this run and the next`() throws {
    let hub = try hub("gps: { driver: 'nmea', port: 'nowhere' }")
    var watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    report(0..<2)
    watch.cancel()
    watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    report(2..<4)
    let position = try #require(hub.lastState.value?.position)
    #expect(position.at == instant(3))
    report(4..<8, hasFix: false)
    #expect(hub.lastState.value?.mode == FusedState.Mode.none && hub.lastKnownPosition == position.value)
    // An observer that joins now gets it too.
    let recorder = InputRecorder()
    hub.record(to: recorder, as: "test", wakes: false).end()
    guard case .begin(let knowledge)? = recorder.inputs.values.first?.input else {
      Issue.record("\(recorder.inputs.values)")
      return
    }
    #expect(knowledge.position?.at == position.at)
    watch.cancel()
    let asleep = try #require(hub.lastState.value?.position)
    #expect(asleep.value == position.value && asleep.at == position.at)
    watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    report(8..<9, hasFix: false)
    #expect(hub.lastState.value?.mode == FusedState.Mode.none && hub.lastKnownPosition == position.value)
    watch.cancel()
  }

  @Test func `the last known position names its receiver also after a board file has moved it in the list`() throws {
    let (gps, baro) = ("gps: { driver: 'nmea', port: 'nowhere' }", "baro: { driver: 'bme280', bus: 'simulated/i2c' }")
    let hub = try hub("\(gps), \(baro)")
    let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    report(0..<3)
    watch.cancel()
    for devices in ["\(baro), \(gps)", "\(gps), \(baro)"] {
      hub.exchangeBoard(for: try board(devices))
      // A run without an epoch.
      hub.state.subscribe(as: "watch", receiveValue: { _ in }).cancel()
      let last = try #require(hub.lastState.value)
      #expect(last.position.map { last.devices.text($0.source) } == "gps")
    }
  }

  @Test func `no client gets an epoch again after a board file has moved its receiver in the list`() throws {
    let (gps, baro) = ("gps: { driver: 'nmea', port: 'nowhere' }", "baro: { driver: 'bme280', bus: 'simulated/i2c' }")
    let hub = try hub("\(gps), \(baro)")
    let (epochs, observed) = (Recorder<MonotonicInstant>(), Recorder<MonotonicInstant>())
    let (sentences, heard) = (Recorder<ReceiverOutput>(), Recorder<ReceiverOutput>())
    let lifetime = Lifetime()
    hub.epochs.subscribe(as: "test", receiveValue: { epochs.append($0.at) }).store(in: lifetime)
    hub.observedEpochs.subscribe(as: "test", receiveValue: { observed.append($0.at) }).store(in: lifetime)
    hub.sentences.subscribe(as: "test", receiveValue: { sentences.append($0) }).store(in: lifetime)
    hub.observeSentences { heard.append($0) }.store(in: lifetime)
    defer { lifetime.end() }
    report(0..<3)
    hub.exchangeBoard(for: try board("\(baro), \(gps)"))
    report(3..<5)
    let instants = (0..<5).map { instant(Double($0)) }
    #expect(epochs.values == instants)
    #expect(observed.values == instants)
    for outputs in [sentences.values, heard.values] {
      #expect(outputs.compactMap { if case .epoch(let epoch) = $0 { epoch.at } else { nil } } == instants)
      #expect(outputs.count { if case .bytes = $0 { true } else { false } } == 5)
    }
  }

  @Test func `a remembered part keeps its sources in another board's order`() {
    var before = FusedState(at: clock.now, devices: DeviceNames(["gps", "baro", "mag"]))
    before.air = Dated(
      FusedState.Air(pressurePascals: 100_000, temperatureCelsius: 20, humidityPercent: nil), at: clock.now,
      source: DeviceSet(1))
    before.magneticField = Dated([20, 0, 40], at: clock.now, source: DeviceSet(2))
    let state = FusedState(at: clock.now, devices: DeviceNames(["baro", "gps"])).remembering(before)
    #expect(state.air.map { state.devices.text($0.source) } == "baro")
    #expect(state.magneticField?.source == [])
  }

  private func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 20_000_000_000 + Int64(seconds * 1e9))
  }

  private func gga(_ second: Int) -> String {
    sentence("GPGGA,12000\(second).00,5231.000\(second),N,01322.0000,E,1,09,0.9,40.0,M,42.0,M,,")
  }

  private func ggaWithoutFix(_ second: Int) -> String { sentence("GPGGA,12000\(second).00,,,,,0,00,99.9,,M,,M,,") }

  private func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count == 1 ? "0" : "")\(sum)\r\n"
  }
}
