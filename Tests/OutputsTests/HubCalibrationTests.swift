import Fusion
import Glibc
import Guarding
import Hub
import MonotonicTime
import Outputs
import Simulation
import TestSupport
import Testing

/// Calibrations by a running hub over its socket. The simulated board lies on a table instead of driving.
@Suite(.timeLimit(.minutes(10)))
final class HubCalibrationTests {
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

  private let folder = TemporaryFolder("calibration")
  private let path: SocketPath
  private let notebook = Notebook()
  private let hub: Hub
  private let service: Task<Void, any Error>

  init() throws {
    path = SocketPath(folder.path + "/hub.sock")
    var world = World(start: MonotonicClock().now)
    world.turntable = World.Turntable(rollRadians: 0.1, pitchRadians: 0, yawRadians: 1)
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    hub = Hub(board: board, hardware: SimulatedHardware(world: world))
    let host = HubHost(hub, version: "test", calibrations: notebook)
    let server = try StreamServer(host: host, path: path, sink: JournalSink(), budget: DescriptorBudget.raised())
    service = Task { try await server.run() }
  }

  private func ask(_ request: String) -> SocketClient {
    let client = SocketClient(path: path.state)
    client.send(request + "\n")
    return client
  }

  /// Waits for a condition. The hub's server is a task, so the test must leave a thread free while it waits.
  private func soon(within limit: Duration = .seconds(90), _ condition: () -> Bool) async -> Bool {
    let deadline = MonotonicClock().now + limit
    while !condition(), MonotonicClock().now < deadline { try? await Task.sleep(for: .milliseconds(5)) }
    return condition()
  }

  /// Starts a calibration, or returns a refused one. The hub is busy until a moment after the previous client has left.
  private func begin(_ request: String) async -> SocketClient {
    var client = ask(request)
    while await soon({ client.text.contains(#""progress":0"#) || !client.isOpen }), !client.isOpen,
      client.text.contains(#""reason":"busy""#), !Task.isCancelled
    {
      client = ask(request)
    }
    return client
  }

  private func stop() async {
    service.cancel()
    _ = try? await service.value
    hub.shutDown()
    await hub.isOff()
  }

  private func isOff(_ id: String) -> Bool { hub.devices.first { $0.id == id }.map { $0.holders.isEmpty } ?? false }

  @Test func `the hub wakes the device that a calibration needs, reports its progress, and stores the result`() async {
    // The calibration does not end while the board is not turned, however long the next client takes.
    let endless = ask(#"{"calibrate": "accel", "name": "test"}"#)
    #expect(await soon { endless.text.contains(#""device":"imu","progress":0"#) }, "\(endless.text)")
    #expect(await soon { !isOff("imu") })
    let second = ask(#"{"calibrate": "gyro", "device": "imu"}"#)
    #expect(await soon { !second.isOpen })
    let busy = #""reason":"busy","message":"another calibration is in progress, started by test[\#(getpid())]"#
    #expect(second.text.contains(busy), "\(second.text)")
    endless.leave()
    let client = await begin(#"{"calibrate": "gyro", "name": "test"}"#)
    #expect(client.text.contains(#""device":"imu","progress":0"#), "\(client.text)")
    // The board has to lie still for ten seconds.
    #expect(await soon(within: .seconds(240)) { !client.isOpen }, "\(client.text)")
    #expect(client.text.contains(#""progress":1"#) && client.text.contains(#""file":"notebook""#), "\(client.text)")
    #expect(notebook.entries.withLock { $0 } == ["imu gyro"])
    // A client that was told of the end is not refused.
    let next = ask(#"{"calibrate": "gyro", "name": "test"}"#)
    #expect(await soon { next.text.contains(#""progress":0"#) }, "\(next.text)")
    next.leave()
    #expect(await soon { isOff("imu") })
    // The client is charged under its name for the calibrated device, and for nothing else. (A client whose request is
    // late for a moment gets states until then, but has no name yet.)
    #expect(hub.devices.first { $0.id == "gps" }?.energyByClient.contains { $0.payer == "test" } == false)
    #expect(hub.devices.first { $0.id == "imu" }?.energyByClient.contains { $0.payer == "test" } == true)
    await stop()
  }

  @Test func `a client that leaves ends its calibration, and the next one can start`() async {
    for _ in 0..<2 {
      let client = await begin(#"{"calibrate": "gyro"}"#)
      #expect(await soon { client.text.contains(#""progress":0"#) }, "\(client.text)")
      #expect(await soon { !isOff("imu") })
      client.leave()
      #expect(await soon { isOff("imu") })
    }
    #expect(notebook.entries.withLock { $0 }.isEmpty)
    await stop()
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
    #expect(await soon { !client.isOpen }, "\(client.text)")
    #expect(client.text.contains(reason) && client.text.contains(#""nextStep":""#), "\(client.text)")
    #expect(hub.devices.allSatisfy { $0.wakes == 0 })
    await stop()
  }
}
