import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A receiver that was told to sleep keeps its supply. No other device does.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverSleepTests {
  /// A receiver on a pseudo-terminal whose supply is a line.
  private final class WiredHardware: Hardware {
    let levels = Recorder<Bool>()
    let ports = Recorder<String>()
    private let receiver: ScriptedReceiver

    /// The receiver's clock. It advances with the receiver's output, so by this clock no answer is late.
    var clock: ManualClock { receiver.clock }

    init(_ receiver: ScriptedReceiver) { self.receiver = receiver }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { throw .notFound(name) }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
      ports.append("open")
      return WatchedPort(port: try LinuxSerialPort(receiver.path, speed: speed), ports: ports)
    }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      Line(levels: levels, receiver: receiver)
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      throw .notFound("\(name)")
    }
  }

  private struct Line: GPIOOutput {
    let levels: Recorder<Bool>
    let receiver: ScriptedReceiver

    func set(_ level: Bool) {
      levels.append(level)
      if level { receiver.switchOn() }
    }

    func close() { levels.append(false) }
  }

  private struct WatchedPort: SerialPort {
    let port: LinuxSerialPort
    let ports: Recorder<String>

    var name: String { port.name }
    var fileDescriptor: Int32 { port.fileDescriptor }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int { try port.read(into: buffer) }
    func write(_ bytes: [UInt8]) throws(HardwareError) { try port.write(bytes) }
    func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int { try port.writeNow(bytes) }
    var unsentCount: Int { port.unsentCount }
    func setSpeed(_ speed: BaudRate) throws(HardwareError) { try port.setSpeed(speed) }
    func close() {
      port.close()
      ports.append("closed")
    }
  }

  private static func kind(_ request: [UInt8]) -> UInt16 {
    request.count > 3 && request[0] == 0xB5 ? UInt16(request[2]) << 8 | UInt16(request[3]) : 0
  }

  /// Answers like an M8.
  private static func answer(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    func text(_ text: String, _ count: Int) -> [UInt8] {
      Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
    }
    switch kind(request) {
    case 0x0A04:
      return .says(
        MadeMessage.ubx(0x0A04, text("ROM CORE 3.01", 30) + text("00080000", 10) + text("PROTVER=18.00", 30)))
    case 0x2703: return .says(MadeMessage.ubx(0x2703, [1, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59]))
    case 0x0241: return .fallsAsleep
    case 0x0608 where request.count == 8:
      return .says(MadeMessage.ubx(0x0608, [0xE8, 3, 1, 0, 1, 0]) + MadeMessage.ubx(0x0501, [0x06, 0x08]))
    case 0: return .silence
    default: return .says(MadeMessage.ubx(0x0501, [request[2], request[3]]))
    }
  }

  private static func receiver(
    wakes: Bool = true, _ react: @escaping @Sendable ([UInt8]) -> ScriptedReceiver.Reaction = answer
  ) -> ScriptedReceiver {
    ScriptedReceiver(wakes: wakes, reacting: react)
  }

  private func board(power: String, rateHz: Int = 5) throws -> Board {
    let text = """
      { name: "test", devices: { gps: { driver: "ublox", port: "/dev/gps", speed: 9600, rateHz: \(rateHz), dynamicModel: "sea",
        power: { \(power) lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "test")
  }

  private func hub(_ hardware: WiredHardware, power: String) throws -> Hub {
    Hub(board: try board(power: power), hardware: hardware, clock: hardware.clock)
  }

  private let line = #"switch: "gpio", chip: "c", line: "l","#

  /// Keeps the receiver awake until its rate has been set for the `count`th time.
  private func wake(_ hub: Hub, _ receiver: ScriptedReceiver, settings count: Int) async throws {
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.count { Self.kind($0) == 0x0608 && $0.count == 14 } >= count }
    lease.cancel()
    await hub.isOff()
  }

  @Test func `a sleeping receiver keeps its supply and releases its tty, until the hub ends`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    #expect(hardware.ports.values == ["open", "closed"])
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    let status = try #require(hub.devices.first)
    // The power follows from the usual current of the sleep mode.
    #expect(status.warning == nil && status.milliwatts < 1)
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    // A hub that ends checks the line after all clients have been disconnected, and does not wait for it. Its own
    // thread drives the line, because a line may hang.
    hub.shutDown()
    #expect(hardware.levels.waits { $0 == [true, false] })
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    receiver.end()
  }

  @Test func `a sleeping receiver loses its supply before it would wake by itself`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    hardware.clock.advance(by: .seconds(11 * 86_400))
    #expect(hardware.levels.values == [true] && hub.devices.first?.power == .asleep)
    // Backup ends after twelve days.
    hardware.clock.advance(by: .seconds(86_400 - 3600))
    #expect(hardware.levels.waits { $0 == [true, false] }, "\(hardware.levels.values)")
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  /// How often the receiver was told to sleep.
  private func sleeps(_ receiver: ScriptedReceiver) -> Int {
    receiver.requests.values.count { Self.kind($0) == 0x0241 }
  }

  /// Waits until the receiver has been told to sleep `count` times, its reader has ended, and the hub counts it as
  /// asleep.
  ///
  /// The three waits cannot miss an event, because each event comes only after the one before it. The command comes from
  /// a reader that is at work, so the next end is that reader's. Before its end, the reader sets the timer for the next
  /// time. A test must not move the clock before that end, because the timer's action does nothing while the device's
  /// reader is at work. The status follows from the end, and does not change until the timer is due.
  private func isAsleepAgain(_ receiver: ScriptedReceiver, _ hub: Hub, count: Int) async -> Bool {
    await receiver.requests.values { requests in requests.count { Self.kind($0) == 0x0241 } >= count }
    await hub.isOff()
    return sleeps(receiver) == count && hub.monitors[0].changes.waits { $0.power == .asleep }
  }

  @Test func `a sleeping receiver without a switch is put to sleep again before it would wake by itself`() async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    for count in 2...3 {
      hardware.clock.advance(by: .seconds(11 * 86_400))
      #expect(sleeps(receiver) == count - 1 && receiver.isAsleep)
      hardware.clock.advance(by: .seconds(86_400 - 3600))
      #expect(await isAsleepAgain(receiver, hub, count: count), "\(hub.devices)")
      #expect(receiver.isAsleep)
    }
    // The receiver's clock continues while the machine is suspended.
    hardware.clock.suspend(for: .seconds(12 * 86_400))
    #expect(await isAsleepAgain(receiver, hub, count: 4), "\(hub.devices)")
    // No client has used the receiver.
    #expect(hub.devices.first?.idleTimeout?.learned.gapCount == 0 && hub.devices.first?.holders == [])
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver put to sleep at the hub's start is put to sleep again before its sleep ends`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep && sleeps(receiver) == 1)
    hardware.clock.advance(by: .seconds(12 * 86_400 - 3600))
    #expect(await isAsleepAgain(receiver, hub, count: 2), "\(hub.devices)")
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a sleeping receiver is put to sleep again while another device holds its supply, and otherwise loses it`()
    async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    let rail = try #require(hub.receiver).device.rail
    _ = try rail.require(for: "other", after: .zero, Poller(stop: -1))
    hardware.clock.advance(by: .seconds(12 * 86_400 - 3600))
    #expect(await isAsleepAgain(receiver, hub, count: 2), "\(hub.devices)")
    #expect(receiver.isAsleep && hardware.levels.values == [true])
    rail.release(for: "other")
    #expect(hardware.levels.values == [true])
    hardware.clock.advance(by: .seconds(12 * 86_400 - 3600))
    #expect(hardware.levels.waits { $0 == [true, false] })
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(sleeps(receiver) == 2)
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver that is awake when the hub ends loses its supply instead of being put to sleep`() async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.contains { Self.kind($0) == 0x0608 && $0.count == 14 } }
    hub.shutDown()
    #expect(hardware.levels.waits { $0 == [true, false] }, "\(hardware.levels.values)")
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    lease.cancel()
    receiver.end()
  }

  @Test func `a receiver that does not fall asleep loses its supply, and this is reported`() async throws {
    let receiver = Self.receiver { Self.kind($0) == 0x0241 ? .silence : Self.answer($0) }
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true, false])
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(hub.devices.first?.warning?.contains("keeps sending") == true)
    receiver.end()
  }

  @Test func `a receiver that does not wake is switched off and on`() async throws {
    let receiver = Self.receiver(wakes: false)
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true])
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true, false, true])
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values == [true, false, true, false])
    receiver.end()
  }

  @Test func `a receiver that only its supply can wake is switched at once, and gets no useless command`() async throws
  {
    let receiver = ScriptedReceiver(wakes: false) { request in
      let text = String(decoding: request.prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
      if text == "$PCAS06,0" { return .says(Array(nmeaLine("GPTXT,01,01,02,SW=URANUS5,V5.1.0.0").utf8)) }
      if text.hasPrefix("$PCAS12") { return .fallsAsleep }
      return request.first == 0xBA
        ? .says(MadeMessage.casic(0x0501, [request[4], request[5], 0, 0])) : .silence
    }
    let hardware = WiredHardware(receiver)
    let text = """
      { name: "test", devices: { gps: { driver: "casic", port: "/dev/gps", speed: 9600, rateHz: 5,
        power: { \(line) sleep: "standby", lingerSeconds: 0 } } } }
      """
    let hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware, clock: hardware.clock)
    let powers = Recorder<DeviceStatus.Power>()
    let lifetime = Lifetime()
    hub.receiver?.monitor.changes.subscribe(as: "test", receiveValue: { powers.append($0.power) }).store(in: lifetime)
    for visit in 1...3 {
      let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
      await receiver.requests.values { $0.count { $0.first == 0xBA } >= visit }
      lease.cancel()
      await hub.isOff()
      #expect(receiver.isAsleep)
      let laterVisits: [Bool] = (1..<visit).flatMap { _ in [false, true] }
      #expect(hardware.levels.values == [true] + laterVisits)
      #expect(hardware.ports.values.count == 2 * visit)
    }
    #expect(!powers.values.contains(.failed))
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver that ignores all bytes while it sleeps is put to sleep again once it has woken`() async throws
  {
    let receiver = ScriptedReceiver(wakes: false) { request in
      let text = String(decoding: request.prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
      if text == "$PCAS06,0" { return .says(Array(nmeaLine("GPTXT,01,01,02,SW=URANUS5,V5.1.0.0").utf8)) }
      if text.hasPrefix("$PCAS12") { return .fallsAsleep }
      return request.first == 0xBA
        ? .says(MadeMessage.casic(0x0501, [request[4], request[5], 0, 0])) : .silence
    }
    let hardware = WiredHardware(receiver)
    let text = """
      { name: "test", devices: { gps: { driver: "casic", port: "/dev/gps", speed: 9600, rateHz: 5,
        power: { \(line) sleep: "standby", lingerSeconds: 0 } } } }
      """
    let hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware, clock: hardware.clock)
    func sleeps() -> Int { receiver.requests.values.count { $0.starts(with: Array("$PCAS12".utf8)) } }
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.contains { $0.first == 0xBA } }
    lease.cancel()
    await hub.isOff()
    #expect(sleeps() == 1)
    let rail = try #require(hub.receiver).device.rail
    _ = try rail.require(for: "other", after: .zero, Poller(stop: -1))
    hardware.clock.advance(by: .seconds(65_535))
    #expect(sleeps() == 1)
    receiver.switchOn()
    hardware.clock.advance(by: .seconds(660))
    #expect(receiver.requests.waits { _ in sleeps() == 2 })
    #expect(hub.waits { hub.devices.first?.power == .asleep }, "\(hub.devices)")
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    rail.release(for: "other")
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `without a sleep mode, the supply is switched off`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true, false])
    #expect(!receiver.requests.values.contains { Self.kind($0) == 0x0241 })
    receiver.end()
  }

  @Test func `a receiver without a switch is made safe by putting it to sleep`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep)
    #expect(hardware.ports.values == ["open", "closed"])
    // The sleeping receiver is silent, and is left alone.
    #expect(hub.makeSafe().isEmpty)
    receiver.end()
  }

  // MARK: Sleep modes that the hub chooses

  /// Teaches the hub that the receiver's battery is empty and that clients return within the hour.
  private func teachSleep(_ monitor: DeviceMonitor) {
    for _ in 1...6 {
      monitor.usageHistory.learnStart(behind: .off) { $0.started(after: 600, joules: 4, seconds: 30) }
      monitor.usageHistory.learn {
        $0.visited(after: 3000, lingered: nil, LearnedIdleTimeout.Costs(watts: 0.13, assumedJoules: 4))
      }
    }
  }

  @Test
  func `with sleep auto, a receiver sleeps once cold starts are known to be expensive, until the pause is too long`()
    async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "auto","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true, false] && !receiver.requests.values.contains { Self.kind($0) == 0x0241 })
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    teachSleep(try #require(hub.receiver).monitor)
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true, false, true] && receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    let status = try #require(hub.devices.first)
    #expect(status.warning == nil && status.milliwatts < 1)
    let text = status.idleTimeout?.explanation ?? []
    #expect(
      text.contains {
        $0.hasPrefix("chosen sleep mode: 'backup', which uses the least energy over the usual pause of ")
      }, "\(text)")
    // No visitor comes.
    hardware.clock.advance(by: .seconds(2 * 86_400))
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(hardware.levels.values == [true, false, true, false])
    // The receiver is found awake.
    try await wake(hub, receiver, settings: 3)
    #expect(Array(hardware.levels.values.prefix(5)) == [true, false, true, false, true])
    #expect(hub.devices.first?.warning == nil)
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values.last == false)
    receiver.end()
  }

  @Test func `with sleep auto, a receiver that slept too long loses its supply once no other device holds it`()
    async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "auto","#)
    let device = try #require(hub.receiver).device
    teachSleep(device.monitor)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    // Another device on the same line is requested, and sleeps later on.
    _ = try device.rail.require(for: "other", after: .zero, Poller(stop: -1))
    hardware.clock.advance(by: .seconds(2 * 86_400))
    #expect(hardware.levels.values == [true] && hub.devices.first?.power == .asleep)
    device.rail.rest("other")
    #expect(hardware.levels.values == [true] && hub.devices.first?.power == .asleep)
    device.rail.endRest(of: "other")
    #expect(hardware.levels.waits { $0 == [true, false] })
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    receiver.end()
  }

  @Test func `with sleep auto, a sleep lasts for its own time, even if a reload ended an earlier sleep`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let clock = hardware.clock
    let power = line + #"sleep: "auto","#
    let hub = try hub(hardware, power: power)
    teachSleep(try #require(hub.receiver).monitor)
    try await wake(hub, receiver, settings: 1)
    let begun = clock.now
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    let seconds = try #require(hub.devices.first?.idleTimeout?.sleep?.secondsUntilOff)
    // An hour later the receiver's rate changes, which requires another reader.
    clock.advance(by: .seconds(3600))
    let old = hub.monitors
    #expect(await hub.apply(try board(power: power, rateHz: 4)) == [])
    #expect(hardware.levels.values == [true, false])
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true, false, true] && receiver.isAsleep)
    // The first rest would be over by now, and the second one is not.
    let past = begun + .nanoseconds(Int64(seconds * 1e9)) + .seconds(60) - clock.now
    #expect(past > .seconds(3600))
    clock.advance(by: past)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    #expect(hardware.levels.values == [true, false, true])
    clock.advance(by: .seconds(2 * 86_400))
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(hardware.levels.values == [true, false, true, false])
    // The timer of the old device switches nothing any more.
    #expect(old[0].status.power == .off)
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `with sleep auto, a receiver without a switch uses its deepest sleep mode`() async throws {
    let receiver = Self.receiver()
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "auto","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep)
    try await wake(hub, receiver, settings: 1)
    #expect(receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    #expect(hub.devices.first?.warning == nil && hub.devices.first.map { $0.milliwatts < 1 } == true)
    try await wake(hub, receiver, settings: 2)
    #expect(receiver.isAsleep)
    receiver.end()
  }

  // MARK: Without a switch

  /// Subscribes to the receiver, and cancels the subscription as soon as the port is open.
  private func glance(_ hub: Hub, _ hardware: WiredHardware) async throws {
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await hardware.ports.first(1)
    lease.cancel()
    await hub.isOff()
  }

  @Test func `after a first visit too short to identify the receiver, it is identified and put to sleep`() async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    try await glance(hub, hardware)
    #expect(receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    #expect(hub.devices.first?.warning == nil)
    // The next visit wakes the receiver.
    try await wake(hub, receiver, settings: 1)
    #expect(receiver.isAsleep)
    receiver.end()
  }

  @Test func `a receiver that stays awake is shown as awake, with the reason and its power`() async throws {
    let isDeaf = Guarded(true)
    let receiver = Self.receiver { isDeaf.withLock { $0 } ? .silence : Self.answer($0) }
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    try await glance(hub, hardware)
    #expect(!receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .awake })
    let status = try #require(hub.devices.first)
    #expect(status.warning?.contains("could not be put to sleep") == true && status.milliwatts > 1)
    // The receiver is asked again as soon as a client comes.
    isDeaf.withLock { $0 = false }
    try await wake(hub, receiver, settings: 1)
    #expect(receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    receiver.end()
  }

  @Test func `a receiver is also put to sleep after a run that failed`() async throws {
    // The receiver is silent once it has been configured, but still obeys.
    let receiver = Self.receiver { request in
      Self.kind(request) == 0x0608 && request.count == 14
        ? .fallsSilent(saying: MadeMessage.ubx(0x0501, [0x06, 0x08])) : Self.answer(request)
    }
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "backup","#)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.contains { Self.kind($0) == 0x0241 } }
    lease.cancel()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver that keeps sending at another speed does not count as asleep`() async throws {
    let receiver = Self.receiver { Self.kind($0) == 0x0241 ? .goesTo(38400, saying: []) : Self.answer($0) }
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hub.monitors[0].changes.waits { $0.power == .awake })
    #expect(hub.devices.first?.warning?.contains("keeps sending") == true)
    receiver.end()
  }

  @Test func `a receiver that was left at another speed is made safe at that speed`() throws {
    let receiver = ScriptedReceiver(speed: 38400, reacting: Self.answer)
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "backup","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep)
    receiver.end()
  }
}
