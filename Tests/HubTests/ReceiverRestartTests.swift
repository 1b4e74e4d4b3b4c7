import Devices
import HardwareIO
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

/// A frozen receiver is restarted by its own command if its supply cannot be switched.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverRestartTests {
  private struct Case: CustomTestStringConvertible, Sendable {
    var driver: String
    var personality: ReceiverPersonality
    var command: CommandName

    var testDescription: String { personality.rawValue }
  }

  private static let cases = [
    Case(driver: "ublox", personality: .ublox8, command: .binary(6, 4)),
    Case(driver: "auto", personality: .ublox10, command: .binary(6, 4)),
    Case(driver: "mediatek", personality: .mediatek, command: .text("PMTK101")),
    Case(driver: "airoha", personality: .airoha, command: .text("PAIR004")),
    Case(driver: "casic", personality: .casic, command: .text("PCAS10")),
    Case(driver: "unicore", personality: .unicore, command: .text("RESET")),
  ]

  @Test(arguments: cases)
  private func `a frozen receiver is restarted hot, configured again, and believed again`(_ its: Case) async throws {
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: { gps: { driver: "\(its.driver)", port: "\(its.personality.port)", rateHz: 2,
          power: { switch: "none", lingerSeconds: 0 } } } }
        """.utf8), file: "test")
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.startUTCNanoseconds = clock.systemTime()
    configuration.wasUsedBefore = true
    let receiver = hardware.receiver(its.personality, configuration: configuration)
    receiver.setPower(true)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let statuses = Recorder<DeviceStatus>()
    let lifetime = Lifetime()
    hub.receiver?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) }).store(in: lifetime)
    let fixes = Recorder<GNSSObservation>()
    hub.epochs(of: "gps").subscribe(
      as: "test", receiveValue: { if $0.fix.mode >= .twoDimensional || $0.isFrozen { fixes.append($0) } }
    ).store(in: lifetime)
    #expect(fixes.waits { $0.contains { !$0.isFrozen } }, "\(hub.devices)")
    // The receiver may have a fix before it is configured.
    let settings = Duration.milliseconds(500)
    #expect(fixes.waits { _ in receiver.interval == settings }, "\(receiver.interval)")
    receiver.setFaults { faults in
      faults.isFrozen = true
      faults.remedy = .hot
    }
    #expect(fixes.waits { $0.contains(where: \.isFrozen) }, "\(hub.devices)")
    #expect(fixes.waits { _ in receiver.commands.contains(its.command) }, "\(hub.devices)")
    let count = fixes.values.count
    #expect(fixes.waits { $0.dropFirst(count).contains { !$0.isFrozen } }, "\(hub.devices)")
    #expect(receiver.starts.last?.kind == .hot)
    #expect(fixes.waits { _ in receiver.interval == settings })
    #expect(receiver.commands.count { $0 == its.command } == 1)
    #expect(statuses.values.contains { $0.warning?.contains("the hub restarts it, hot (attempt 1)") == true })
    #expect(!statuses.values.contains { $0.power == .failed })
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a frozen receiver that must not get commands is reported, and its fixes are not believed`() async throws {
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: { gps: { driver: "nmea", port: "simulated/ublox-8",
          power: { switch: "none", lingerSeconds: 0 } } } }
        """.utf8), file: "test")
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.startUTCNanoseconds = clock.systemTime()
    let receiver = hardware.receiver(.ublox8, configuration: configuration)
    receiver.setPower(true)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let lifetime = Lifetime()
    let epochs = Recorder<GNSSObservation>()
    hub.epochs(of: "gps").subscribe(as: "test", receiveValue: { epochs.append($0) }).store(in: lifetime)
    #expect(epochs.waits { $0.contains { $0.fix.mode >= .twoDimensional } })
    receiver.setFaults { $0.isFrozen = true }
    #expect(
      hub.monitors[0].changes.waits { $0.warning?.contains("only a command in its own protocol") == true },
      "\(hub.devices)")
    let count = epochs.values.count
    // The run continues.
    #expect(epochs.waits { $0.count > count + 2 })
    #expect(epochs.values.last?.isFrozen == true && hub.devices[0].power != .failed)
    #expect(receiver.commands.isEmpty)
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a frozen receiver with a switch is restarted by its supply, without a warning`() async throws {
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: { gps: { driver: "ublox", port: "simulated/ublox-8",
          power: { switch: "gpio", chip: "simulated", line: "ublox-8-power", lingerSeconds: 0 } } } }
        """.utf8), file: "test")
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.startUTCNanoseconds = clock.systemTime()
    let receiver = hardware.receiver(.ublox8, configuration: configuration)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let lifetime = Lifetime()
    let epochs = Recorder<GNSSObservation>()
    hub.epochs(of: "gps").subscribe(as: "test", receiveValue: { epochs.append($0) }).store(in: lifetime)
    #expect(epochs.waits { $0.contains { $0.fix.mode >= .twoDimensional } })
    let count = receiver.starts.count
    receiver.setFaults { $0.isFrozen = true }
    #expect(epochs.waits { _ in receiver.starts.count > count }, "\(hub.devices)")
    #expect(
      hub.monitors[0].changes.waits {
        $0.warning?.contains("the hub switches its supply off and on (attempt 1)") == true
      },
      "\(hub.devices)")
    #expect(!receiver.commands.contains(.binary(6, 4)))
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
    #expect(!hardware.powerLines.level("ublox-8-power"))
  }

  @Test func `a frozen receiver whose supply other devices keep on is restarted by a command`() async throws {
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: {
          gps: { driver: "ublox", port: "simulated/ublox-8",
            power: { switch: "gpio", chip: "simulated", line: "ublox-8-power", lingerSeconds: 0 } },
          other: { driver: "nmea", port: "simulated/gps2",
            power: { switch: "gpio", chip: "simulated", line: "ublox-8-power", lingerSeconds: 0 } } } }
        """.utf8), file: "test")
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.startUTCNanoseconds = clock.systemTime()
    let receiver = hardware.receiver(.ublox8, configuration: configuration)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let lifetime = Lifetime()
    let epochs = Recorder<GNSSObservation>()
    let statuses = Recorder<DeviceStatus>()
    for monitor in hub.monitors {
      monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) }).store(in: lifetime)
    }
    hub.powerLease(of: "other").subscribe(as: "test", receiveValue: { _ in }).store(in: lifetime)
    hub.epochs(of: "gps").subscribe(as: "test", receiveValue: { epochs.append($0) }).store(in: lifetime)
    #expect(epochs.waits { $0.contains { $0.fix.mode >= .twoDimensional } })
    receiver.setFaults { faults in
      faults.isFrozen = true
      faults.remedy = .hot
    }
    #expect(epochs.waits { $0.contains(where: \.isFrozen) }, "\(hub.devices)")
    #expect(epochs.waits { _ in receiver.commands.contains(.binary(6, 4)) }, "\(hub.devices)")
    let count = epochs.values.count
    #expect(
      epochs.waits { $0.dropFirst(count).contains { !$0.isFrozen && $0.fix.mode >= .twoDimensional } },
      "\(hub.devices)")
    #expect(!statuses.values.contains { $0.power == .failed })
    #expect(!statuses.values.contains { $0.warning?.contains("supply") == true })
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
    #expect(!hardware.powerLines.level("ublox-8-power"))
  }
}
