import ArgumentParser
import CLinux
import Fusion
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Outputs
import Publishing
import Simulation

/// Calibrates the IMU or the magnetometer of a board, from new measurements or from a recording.
struct Calibrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Calibrate the IMU or the magnetometer: gyro, accel, mag or mount.",
    discussion: """
      gyro    the gyroscope's bias: leave the sensor still for up to a minute
      accel   offsets and scales: hold it still six times, each axis up and down
      mag     the effect of iron nearby: turn the sensor through all directions
      mount   how it is mounted: stand still, speed up and brake on a straight road

      If a hub is running, it does the calibration with its own board, because it has the sensor. The result affects all \
      clients, so run the command as root, as the hub's account, or as a member of the group sensorhub. If no hub is \
      running, this program does the calibration with the board file of --board. The result is stored for this chip. \
      "fuse --board" uses it at once, and the hub from its next start or reload. A recording does not name its chip, so \
      name the device with --device.

      Example: sensorhub calibrate gyro --board my-board.json5
      Another IMU: sensorhub calibrate gyro --board my-board.json5 --device spare
      """)

  @Argument(help: "gyro, accel, mag or mount.")
  var kind: CalibrationKind

  @Option(
    help: ArgumentHelp(
      "The board file to use if no hub is running. Default: the simulated board.", valueName: "file.json5"))
  var board: String?

  @Option(help: ArgumentHelp("The device to calibrate. Default: the preferred one.", valueName: "id"))
  var device: String?

  @Option(
    help: ArgumentHelp(
      "Use a recording instead: a hub's recording, or a table in the chip's own axes.", valueName: "file"))
  var imu: String?

  @Option(help: ArgumentHelp("The recorded fixes that mount needs.", valueName: "file"))
  var gnss: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Stop without a result after this time. Default: 900 for mount, which needs a drive, otherwise 300.",
      valueName: "seconds"))
  var timeout: Double?

  @Option(help: ArgumentHelp("The state socket of the running hub.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if gnss != nil, imu == nil { throw ValidationError("--gnss needs --imu") }
    if imu != nil, device == nil {
      throw ValidationError("a recording does not name its chip: name the device of the board with --device")
    }
    if kind == .mount, imu != nil, gnss == nil { throw ValidationError("mount needs the speeds in the file of --gnss") }
    if let timeout, !(1...86_400).contains(timeout) { throw ValidationError("--timeout must be from 1 to 86400") }
  }

  private var patience: Duration { .milliseconds(Int64((timeout ?? (kind == .mount ? 900 : 300)) * 1000)) }

  /// Lets the running hub calibrate, or else calibrates in this program, and prints the result. Returns after the
  /// devices that this program woke are off.
  func calibrate() async throws {
    do {
      let signals = imu == nil ? clinux_hear_signals() : 0
      guard signals >= 0 else {
        throw CommandError(.inputOutput, "cannot receive signals: \(String(cString: strerror(-signals)))")
      }
      if imu == nil, let stored = try calibrateByHub(signals) {
        return report(stored, used: "a running hub uses it after a reload: sudo systemctl reload sensorhub")
      }
      let isPractice = self.board == nil && imu == nil
      if isPractice, let refusal = InstalledService().refusalOfSimulation {
        throw CommandError(
          .unavailable, "no hub answers, and \(refusal.message)",
          nextStep: "sudo systemctl start sensorhub, or name the board: --board \(InstalledService.boardFile)")
      }
      let board = try BoardSource(file: board).load()
      if isPractice {
        Terminal.standardError(
          "SIMULATED: no hub is running and --board is missing, so this is practice on simulated sensors")
      }
      let chip = try board.device(for: kind, named: device, isRecorded: imu != nil)
      let lock = try CalibrationFolder.lock(waits: false)
      defer { close(lock) }
      let session = if let imu { try replay(imu) } else { try await measure(board, chip.id, signals) }
      report(try CalibrationFolder.add(session, of: chip))
    } catch let refusal as CalibrationRefusal {
      throw CommandError(refusal)
    }
  }

  /// Asks the running hub to calibrate, and waits for the result. Returns `nil` if no hub can be reached, unless the user
  /// has named its socket: this program would then calibrate other sensors than the user meant.
  private func calibrateByHub(_ signals: Int32) throws -> StoredCalibration? {
    let connection: HubConnection
    do {
      connection = try HubConnection.open(socket) { $0.state }
    } catch {
      if socket != nil { throw error }
      return nil
    }
    if board != nil {
      Terminal.standardError("a hub is running and has the sensor, so its own board file is used instead of --board")
    }
    if let mark = (try? DevicesOfHub.read(socket)).flatMap(DevicesOfHub.mark) {
      let help = kind.practice == nil ? "" : "; the simulated board makes the requested movements itself"
      Terminal.standardError("\(mark): the hub's sensors are simulated, so this is practice\(help)")
    }
    return try CalibrationByHub(kind: kind, device: device)
      .run(on: connection, within: patience, signals: signals)
  }

  private func report(_ stored: StoredCalibration, used: String? = nil) {
    Terminal.standardOutput("\(kind.rawValue) calibrated: \(describe(stored.quality)); stored in \(stored.file)")
    if let used { Terminal.standardError(used) }
  }

  private func describe(_ quality: Double) -> String {
    switch kind {
    case .gyro: "±\(Text.fixed(quality * 180 / .pi, 4)) °/s of bias remain"
    case .accel: "±\(Text.fixed(quality, 4)) m/s² remain"
    case .mag: "±\(Text.fixed(quality * 100, 1)) % of the field remain"
    case .mount: "\(Text.fixed(quality * 100, 0)) % of the acceleration was forward"
    }
  }

  private func replay(_ path: String) throws -> CalibrationSession {
    var samples = try InertialRecording(path: path, device: device)
    var session = CalibrationSession(kind)
    var speeds = try gnss.map { try GNSSRecording(path: $0) }
    var fix = speeds?.next()
    var last: Double?
    var section = 0
    while let sample = samples.next() {
      if sample.section != section {
        section = sample.section
        last = nil
      }
      while let stale = fix, stale.section < section { fix = speeds?.next() }
      session.add(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer,
        seconds: last.map { sample.time - $0 } ?? samples.interval)
      if let magnetometer = sample.magnetometer { session.add(magnetometer: magnetometer) }
      last = sample.time
      while let due = fix, due.section == section, due.fix.time <= sample.time {
        if let velocity = due.fix.velocity {
          session.add(speed: (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot(), time: due.fix.time)
        }
        fix = speeds?.next()
      }
    }
    return session
  }

  private func measure(_ board: Board, _ id: String, _ signals: Int32) async throws -> CalibrationSession {
    var world = World(start: MonotonicClock().now)
    world.practice = kind.practice
    let hub = Hub(board: board, hardware: SimulatedHardware(world: kind.practice == nil ? nil : world))
    let latest = Guarded(CalibrationSession(kind))
    let failure = Guarded<String?>(nil)
    let end = StopSignal()
    let subscription = hub.calibration(of: id).apply(kind).subscribe(
      as: "calibrate",
      receiveValue: { session in
        let before = latest.withLock { latest in
          defer { latest = session }
          return latest
        }
        let percent = Int(session.progress * 100)
        if percent != Int(before.progress * 100) || session.instruction != before.instruction {
          Terminal.standardError("\(percent) %: \(percent < 100 ? session.instruction : "done")")
        }
      },
      receiveCompletion: { completion in
        if case .failed(let error) = completion { failure.withLock { $0 = "\(error)" } }
        end.set()
      })
    Terminal.standardError("0 %: \(latest.withLock { $0.instruction }); Ctrl-C cancels")
    let event = Poller(stop: end.fileDescriptor).wait(for: signals, atMost: patience)
    subscription.cancel()
    // The process must not end before the devices are off.
    hub.shutDown()
    await hub.isOff()
    if let failure = failure.withLock({ $0 }) {
      throw CommandError(.unavailable, failure, nextStep: "sensorhub probe lists the devices")
    }
    if event == .readable { throw CommandError(.unavailable, "cancelled; nothing was changed") }
    return latest.withLock { $0 }
  }
}

extension CalibrationKind: ExpressibleByArgument {}

extension CommandError {
  init(_ refusal: CalibrationRefusal) {
    let code: Code =
      switch refusal.reason {
      case .input: .data
      case .busy: .unavailable
      case .noPermission: .noPermission
      }
    self.init(code, refusal.message, nextStep: refusal.nextStep)
  }
}
