import Fusion
import Glibc
import Guarding
import Hub
import MonotonicTime
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Calibrations by a running hub over its socket. The simulated board lies on a table instead of driving.
@Suite(.timeLimit(.minutes(10)))
struct HubCalibrationTests {
  /// Replaces the folder of calibrations.
  private final class Notebook: CalibrationStore {
    let entries = Guarded<[String]>([])

    func store(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal)
      -> StoredCalibration
    {
      var known = ChipCalibration()
      guard session.store(in: &known, at: 0), let entry = known.entries[session.kind] else {
        throw CalibrationRefusal("no result", nextStep: session.instruction)
      }
      entries.withLock { $0.append("\(chip.id) \(session.kind)") }
      return StoredCalibration(file: "notebook", quality: entry.quality)
    }

    func store(_ refined: MagneticOffsetRefiner.Result, of chip: DeviceDescription) -> StoredCalibration {
      StoredCalibration(file: "notebook", quality: refined.quality)
    }
  }

  private let notebook = Notebook()
  private let hub: ServedHub

  init() throws {
    // While the machine does not keep up, the board lies still for longer. Otherwise the IMU's FIFO would overflow.
    let clock = SteppedClock()
    var world = World(start: clock.now)
    world.turntable = World.Turntable(rollRadians: 0.1, pitchRadians: 0, yawRadians: 1)
    let machine = Machine(
      hardware: SimulatedHardware(clock: clock, world: world), clock: clock, systemTime: clock.systemTime)
    // The clock of the clients stands still, so no request is late.
    hub = try ServedHub(
      board: HubProcess.simulatedBoard(""), on: machine, clientClock: ManualClock(), calibrations: notebook)
  }

  private func ask(_ request: String) -> SocketClient {
    let client = SocketClient(path: hub.path.state)
    client.send(request + "\n")
    return client
  }

  /// Starts a calibration, or returns a refused one. The hub is busy until a moment after the previous client has left.
  private func begin(_ request: String) -> SocketClient {
    var client = ask(request)
    while !client.receives(#""progress":0"#), client.text.contains(#""reason":"busy""#), !Task.isCancelled {
      client = ask(request)
    }
    return client
  }

  /// Blocks until a device has a holder, or none.
  private func shows(_ id: String, isHeld: Bool) -> Bool { hub.shows(id) { $0.holders.isEmpty != isHeld } }

  @Test func `the hub wakes the device that a calibration needs, reports its progress, and stores the result`()
    async throws
  {
    // The calibration does not end while the board is not turned, however long the next client takes.
    let endless = ask(#"{"calibrate": "accel", "name": "test"}"#)
    #expect(endless.receives(#""device":"imu","progress":0"#), "\(endless.text)")
    #expect(shows("imu", isHeld: true))
    let second = ask(#"{"calibrate": "gyro", "device": "imu"}"#)
    #expect(second.waitsForEnd())
    let busy = #""reason":"busy","message":"another calibration is in progress, started by test[\#(getpid())]"#
    #expect(second.text.contains(busy), "\(second.text)")
    endless.leave()
    let client = begin(#"{"calibrate": "gyro", "name": "test"}"#)
    #expect(client.text.contains(#""device":"imu","progress":0"#), "\(client.text)")
    // The board has to lie still for ten seconds of its clock.
    #expect(client.waitsForEnd(), "\(client.text)")
    #expect(client.text.contains(#""progress":1"#) && client.text.contains(#""file":"notebook""#), "\(client.text)")
    #expect(notebook.entries.withLock { $0 } == ["imu gyro"])
    // A client that was told of the end is not refused.
    let next = ask(#"{"calibrate": "gyro", "name": "test"}"#)
    #expect(next.receives(#""progress":0"#), "\(next.text)")
    next.leave()
    #expect(shows("imu", isHeld: false))
    // The client is charged under its name for the calibrated device, and for nothing else.
    #expect(try hub.device("gps").wakes == 0)
    #expect(try !hub.device("gps").energyByClient.contains { $0.payer == "test" })
    #expect(try hub.device("imu").energyByClient.contains { $0.payer == "test" })
    await hub.end()
  }

  @Test func `a client that leaves ends its calibration, and the next one can start`() async {
    for _ in 0..<2 {
      let client = begin(#"{"calibrate": "gyro"}"#)
      #expect(client.receives(#""progress":0"#), "\(client.text)")
      #expect(shows("imu", isHeld: true))
      client.leave()
      #expect(shows("imu", isHeld: false))
    }
    #expect(notebook.entries.withLock { $0 }.isEmpty)
    await hub.end()
  }

  @Test(arguments: [
    (#"{"calibrate": "gyro", "device": "nobody"}"#, "has no device 'nobody'"),
    (#"{"calibrate": "accel", "device": "gps"}"#, "'gps' is not an IMU"),
    (#"{"calibrate": "mag"}"#, "has no magnetometer"),
  ])
  func `an impossible calibration is refused with the next step, and wakes no device`(
    _ request: String, _ reason: String
  )
    async
  {
    let client = ask(request)
    #expect(client.waitsForEnd(), "\(client.text)")
    #expect(client.text.contains(reason) && client.text.contains(#""nextStep":""#), "\(client.text)")
    #expect(hub.hasWokenNothing)
    await hub.end()
  }
}
