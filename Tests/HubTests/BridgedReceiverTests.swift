import Devices
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// A client that writes to a simulated receiver through the hub.
@Suite(.timeLimit(.minutes(10)))
struct BridgedReceiverTests {
  /// The message that sets the UART's speed to 115200 (UBX-CFG-PRT).
  private static let faster = MadeMessage.ubx(
    0x0600, [1, 0, 0, 0, 0xD0, 8, 0, 0, 0x00, 0xC2, 0x01, 0x00, 7, 0, 3, 0, 0, 0, 0, 0])

  /// A hub with a receiver that it does not keep awake after its last client has left.
  private func hub(_ settings: String = "", power: String = "") throws -> (Hub, CommandedReceiver) {
    let personality = ReceiverPersonality.ublox8
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: { gps: { driver: "ublox", port: "\(personality.port)", \(settings)
          power: { switch: "gpio", chip: "simulated", line: "\(personality.powerLine)", \(power) lingerSeconds: 0 } } } }
        """.utf8), file: "test")
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.startUTCNanoseconds = clock.systemTime()
    let receiver = hardware.receiver(personality, configuration: configuration)
    let machine = Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime)
    return (Hub(board: board, on: machine), receiver)
  }

  @Test func `a receiver whose speed a client has changed is put to sleep although the client leaves at once`()
    async throws
  {
    let (hub, receiver) = try hub(power: #"sleep: "backup","#)
    let lease = hub.powerLease(of: "gps").subscribe(as: "bridge", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    guard case .granted(let writer) = hub.claimBridge(to: "gps", for: "u-center", hasRoom: {}) else {
      Issue.record("not granted")
      return
    }
    Self.faster.withUnsafeBufferPointer(writer.write)
    #expect(eventually { receiver.speed == 115_200 }, "\(receiver.speed)")
    writer.end(keeping: lease)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep }, "\(hub.devices[0]), \(receiver.phase)")
    #expect(hub.devices[0].warning == nil, "\(hub.devices[0])")
    // The kernel passes the last command on to the simulated receiver. No event shows that it has arrived.
    #expect(eventually { receiver.phase == .backup }, "\(receiver.phase)")
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `settings that a client has changed are detected and set again after it has left`() async throws {
    let (hub, receiver) = try hub("setSpeed: 38400,")
    func gps() -> DeviceStatus { hub.devices[0] }

    let raw = Recorder<[UInt8]>()
    let bytes = hub.observeRawBytes(of: "gps", as: "bridge") { raw.append($0) }
    #expect(gps().power == .off)
    let lease = hub.powerLease(of: "gps").subscribe(as: "bridge", receiveValue: { _ in })
    #expect(eventually { receiver.speed == 38400 && gps().power == .tracking }, "\(gps())")
    #expect(gps().warning == nil && !raw.values.isEmpty)

    guard case .granted(let writer) = hub.claimBridge(to: "gps", for: "u-center", hasRoom: {}) else {
      Issue.record("not granted")
      return
    }
    #expect(hub.isInService(writer))
    #expect(gps().warning?.hasPrefix("u-center writes to gps through the bridge") == true, "\(gps())")
    guard case .taken("u-center") = hub.claimBridge(to: "gps", for: "another", hasRoom: {}) else {
      Issue.record("two clients may write")
      return
    }
    Self.faster.withUnsafeBufferPointer(writer.write)
    #expect(eventually { receiver.speed == 115_200 }, "\(receiver.speed)")
    writer.end()
    #expect(eventually { receiver.speed == 38400 }, "\(receiver.speed)")
    let epochs = Recorder<GNSSObservation>()
    let reading = hub.epochs(of: "gps").subscribe(as: "test", receiveValue: epochs.append)
    await epochs.first(2)
    #expect(gps().warning == nil && gps().power == .tracking, "\(gps())")
    guard case .missing = hub.claimBridge(to: "imu", for: "another", hasRoom: {}) else {
      Issue.record("an unknown receiver")
      return
    }
    for subscription in [reading, lease, bytes] { subscription.cancel() }
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    hub.shutDown()
    await hub.isOff()
  }
}
