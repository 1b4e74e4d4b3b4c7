import ArgumentParser
import CLinux
import Fusion
import Glibc
import Guarding
import HardwareIO
import Hub
import Outputs
import Publishing
import Simulation

/// Calibrates the IMU or the magnetometer of a board, by its own measurements or by a recording of them.
struct Calibrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Calibrate the IMU or the magnetometer: gyro, accel, mag or mount.",
    discussion: """
      gyro    its bias: leave the sensor lying still
      accel   offsets and scales: hold it still in six positions, each axis up and down
      mag     iron near the magnetometer: turn it through all directions
      mount   how it sits in the vehicle: stand still, then speed up and brake on a straight road

      The result is stored for this chip and used by "fuse --board", and by the hub from its next start on. The hub must not be
      running meanwhile.

      Example: sensorhub calibrate gyro --board my-board.json5
      Another than the preferred one: sensorhub calibrate gyro --board my-board.json5 --device spare
      """)

  @Argument(help: "gyro, accel, mag or mount.")
  var kind: CalibrationKind

  @Option(help: ArgumentHelp("The board whose sensor it is. Left out: the simulated one.", valueName: "file.json5"))
  var board: String?

  @Option(help: ArgumentHelp("Which of its devices. Left out: the one that is preferred.", valueName: "id"))
  var device: String?

  @Option(help: ArgumentHelp("Take a recording instead, in the chip's own axes.", valueName: "file.csv"))
  var imu: String?

  @Option(help: ArgumentHelp("The recorded fixes that mount needs.", valueName: "file.csv"))
  var gnss: String?

  @Option(help: ArgumentHelp("Give up after so long.", valueName: "seconds"))
  var timeout = 300.0

  @Option(help: ArgumentHelp("The socket on which a running hub is looked for.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if gnss != nil, imu == nil { throw ValidationError("--gnss goes with --imu") }
    if kind == .mount, imu != nil, gnss == nil { throw ValidationError("mount needs the speeds of --gnss") }
    if !(1...86_400).contains(timeout) { throw ValidationError("--timeout must be from 1 to 86400") }
  }

  /// What `run` would be, if it did not have to wait for the power to end.
  func calibrate() async throws {
    let board = try BoardSource(file: board).load()
    let needed = kind == .mag && imu == nil ? DeviceStatus.Kind.magnetometer : .imu
    if let device, !board.devices.contains(where: { $0.id == device }) {
      throw CommandError(
        .data, "the board '\(board.name)' has no device '\(device)'",
        nextStep: "it has " + board.devices.map(\.id).joined(separator: ", "))
    }
    // What a recording tells of a magnetometer is that of the board's own, or else of the one in its IMU.
    let usual = kind == .mag ? [board.magnetometer?.id, board.imu?.id] : [board.imu?.id]
    let id = device ?? usual.lazy.compactMap { $0 }.first
    let chip = board.devices.first { $0.id == id }
    let isOfIMU = kind == .mag && imu != nil && chip?.kind == .magnetometer
    guard let chip, let place = chip.place, chip.kind == needed || isOfIMU else {
      let what = needed == .imu ? "IMU" : "magnetometer"
      throw CommandError(
        .data, device.map { "'\($0)' is no \(what)" } ?? "the board '\(board.name)' has no \(what)",
        nextStep: "name one in its file, in 'devices'; sensorhub chips lists what can be read")
    }
    try CalibrationFolder.make()
    let lock = try takeLock()
    defer { close(lock) }
    let session = if let imu { try replay(imu) } else { try await measure(board, chip.id) }
    var known = chip.calibration ?? ChipCalibration()
    guard session.store(in: &known, at: Int64(time(nil))) else {
      if session.progress >= 1 {
        throw CommandError(
          .data, "what was measured makes no sense for \(kind.rawValue)",
          nextStep: "try again, slowly, away from iron and engines")
      }
      throw CommandError(
        .data, "no result: \(Int(session.progress * 100)) % of what \(kind.rawValue) needs",
        nextStep: session.instruction)
    }
    let file = CalibrationFolder.file(for: place)
    do throws(HardwareError) {
      try known.write(to: file)
    } catch {
      throw CommandError(.inputOutput, "\(error)")
    }
    let quality = known.entries[kind].map { ": \(describe($0.quality))" } ?? ""
    Terminal.standardOutput("\(kind.rawValue) calibrated\(quality); stored in \(file)")
  }

  private func describe(_ quality: Double) -> String {
    switch kind {
    case .gyro: "±\(Text.fixed(quality * 180 / .pi, 4)) °/s of bias are left"
    case .accel: "±\(Text.fixed(quality, 4)) m/s² are left"
    case .mag: "±\(Text.fixed(quality * 100, 1)) % of the field are left"
    case .mount: "\(Text.fixed(quality * 100, 0)) % of each push was forward"
    }
  }

  /// Only one calibration at a time, of this process or another.
  private func takeLock() throws -> Int32 {
    let lock = open("\(CalibrationFolder.path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard lock >= 0 else {
      throw CommandError(
        .noPermission, "cannot write in \(CalibrationFolder.path): \(String(cString: strerror(errno)))",
        nextStep: "run as the user that the hub runs as")
    }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw CommandError(.unavailable, "another calibration is under way", nextStep: "let it end, or stop it")
    }
    return lock
  }

  private func replay(_ path: String) throws -> CalibrationSession {
    var samples = try InertialRecording(path: path)
    var session = CalibrationSession(kind)
    var speeds = try gnss.map { try GNSSRecording(path: $0) }
    var fix = speeds?.next()
    var last: Double?
    while let sample = samples.next() {
      session.add(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer,
        seconds: last.map { sample.time - $0 } ?? samples.interval)
      if let magnetometer = sample.magnetometer { session.add(magnetometer: magnetometer) }
      last = sample.time
      while let due = fix, due.time <= sample.time {
        if let velocity = due.velocity {
          session.add(speed: (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot(), time: due.time)
        }
        fix = speeds?.next()
      }
    }
    return session
  }

  private func measure(_ board: Board, _ id: String) async throws -> CalibrationSession {
    for path in socket.map({ [SocketPath($0)] }) ?? SocketPath.candidates {
      if let running = try? UnixSocket.connect(path.devices) {
        close(running)
        throw CommandError(.unavailable, "a hub is running and has the sensor", nextStep: "stop it first")
      }
    }
    let signals = clinux_hear_signals()
    if kind == .mount, board.receiver == nil {
      throw CommandError(
        .data, "mount needs a receiver, and the board has none",
        nextStep: "name one in its file, in 'devices': gps: { driver: \"nmea\", port: … }")
    }
    let hub = Hub(board: board, hardware: SimulatedHardware())
    guard signals >= 0 else {
      throw CommandError(.inputOutput, "cannot hear signals: \(String(cString: strerror(-signals)))")
    }
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
        if percent != Int(before.progress * 100) {
          Terminal.standardError("\(percent) %: \(percent < 100 ? session.instruction : "done")")
        }
      },
      receiveCompletion: { completion in
        if case .failed(let error) = completion { failure.withLock { $0 = "\(error)" } }
        end.set()
      })
    Terminal.standardError("0 %: \(latest.withLock { $0.instruction }); Ctrl-C gives up")
    let event = Poller(stop: end.fileDescriptor).wait(for: signals, atMost: .milliseconds(Int64(timeout * 1000)))
    subscription.cancel()
    // The process must not end before the power has.
    hub.shutDown()
    await hub.isOff()
    if let failure = failure.withLock({ $0 }) {
      throw CommandError(.unavailable, failure, nextStep: "sensorhub probe says what is there")
    }
    if event == .readable { throw CommandError(.unavailable, "given up; nothing was changed") }
    return latest.withLock { $0 }
  }
}

extension CalibrationKind: ExpressibleByArgument {}
