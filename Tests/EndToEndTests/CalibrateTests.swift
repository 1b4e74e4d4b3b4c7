import CLinux
import Glibc
import TestSupport
import Testing

/// `sensorhub calibrate`, on the simulated board and on recordings.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CalibrateTests {
  private let temporary = TemporaryFolder("calibrate")
  private var folder: String { temporary.path }

  /// The environment with the folder where these programs keep their calibrations.
  private var state: [String] { ["STATE_DIRECTORY=" + folder] }
  /// The same, where no hub runs.
  private var alone: [String] { state + ["RUNTIME_DIRECTORY=\(folder)/nowhere"] }
  private var file: String { "\(folder)/calibration/simulated-i2c-68.json5" }

  private func restRecording() -> String {
    let path = "\(folder)/rest.csv"
    let rows = (0..<2000).map { "\(Double($0) / 100),0.01,-0.02,0.005,0.\($0 % 3),0,9.8" }
    HubProcess.write("t,gx,gy,gz,ax,ay,az\n" + rows.joined(separator: "\n"), to: path)
    return path
  }

  @Test func `a bias is stored for the chip, used from the next start on, and its age is shown`() {
    let recording = restRecording()
    let calibrate = Program(["calibrate", "gyro", "--imu", recording, "--device", "imu"], environment: state)
    #expect(calibrate.wait() == 0, "\(calibrate.standardError)")
    #expect(calibrate.standardOutput.contains("gyro calibrated: ±"))
    #expect(String(decoding: SharedData.read(file), as: UTF8.self).contains("bias: [0.01"))
    let hub = HubProcess(["--no-journal-state"], environment: state)
    let devices = Program(["devices", "--json", "--socket", hub.socket])
    devices.wait()
    #expect(devices.standardOutput.contains(#""calibrations":{"gyro":{"ageSeconds":"#))
    // While a hub runs, it uses the IMU and does the calibration. Its vehicle does not stand still for long enough
    // here.
    let second = Program(["calibrate", "mount", "--timeout", "2", "--socket", hub.socket], environment: state)
    #expect(second.wait() == 65)
    #expect(second.standardError.contains("% of what mount needs"), "\(second.standardError)")
    let wrong = Program(["calibrate", "gyro", "--device", "nobody", "--socket", hub.socket], environment: state)
    #expect(wrong.wait() == 65 && wrong.standardError.contains("has no device 'nobody'"), "\(wrong.standardError)")
    let third = Program(["calibrate", "mount", "--socket", hub.socket], environment: state)
    #expect(third.logs("0 %: stand still for a few seconds"), "\(third.standardError)")
    #expect(third.logs("Ctrl-C cancels"))
    third.send(SIGINT)
    #expect(third.wait() == 69 && third.standardError.contains("nothing was changed"), "\(third.standardError)")
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `without a hub, calibrate uses a simulated board that makes the motions, and says so`() {
    let calibrate = Program(["calibrate", "gyro"], environment: alone)
    #expect(calibrate.wait() == 0, "\(calibrate.standardError)")
    #expect(
      calibrate.standardError.hasPrefix("SIMULATED: no hub is running and --board is missing"),
      "\(calibrate.standardError)")
    #expect(calibrate.standardOutput.contains("gyro calibrated: ±"), "\(calibrate.standardOutput)")
  }

  @Test func `calibrate refuses a socket on which no hub answers, instead of calibrating other sensors`() {
    let calibrate = Program(["calibrate", "gyro", "--socket", folder + "/typo.sock"], environment: alone)
    #expect(calibrate.wait() == 69)
    #expect(calibrate.standardError.contains("no hub is running: nothing answers on \(folder)/typo.sock"))
    #expect(access(file, F_OK) != 0)
  }

  @Test func `a calibration file is readable for all users, whatever the umask`() {
    let recording = restRecording()
    let calibrate = Program(
      ["-c", "umask 077; exec \"$0\" calibrate gyro --imu \"$1\" --device imu", Program.sensorhub, recording],
      path: "/bin/sh", environment: state)
    #expect(calibrate.wait() == 0, "\(calibrate.standardError)")
    var facts = stat()
    #expect(stat(file, &facts) == 0 && facts.st_mode & 0o777 == 0o644, "\(String(facts.st_mode, radix: 8))")
  }

  @Test func `a calibration from a recording needs the name of its device`() {
    let recording = restRecording()
    let calibrate = Program(["calibrate", "gyro", "--imu", recording], environment: state)
    #expect(calibrate.wait() == 64)
    #expect(
      calibrate.standardError.contains("name the device of the board with --device"), "\(calibrate.standardError)")
    #expect(access(file, F_OK) != 0)
  }

  @Test func `a simulated hub lies still and tumbles during a calibration, and drives on afterwards`() {
    let hub = HubProcess(["--no-journal-state"], environment: state)
    for kind in ["gyro", "accel"] {
      let calibrate = Program(["calibrate", kind, "--socket", hub.socket], environment: state)
      #expect(calibrate.wait() == 0, "\(calibrate.standardError)")
      #expect(
        calibrate.standardError.hasPrefix("SIMULATED: the hub's sensors are simulated, so this is practice; the"),
        "\(calibrate.standardError)")
      #expect(calibrate.standardOutput.contains("\(kind) calibrated: ±"), "\(calibrate.standardOutput)")
    }
    let watch = hub.watch()
    let isDriving = watch.prints { _ in
      HubProcess.states(watch).contains { $0.position != nil && abs($0.attitude?.roll ?? 90) < 20 }
    }
    #expect(isDriving, "\(watch.standardError)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `only one calibration runs at a time, and Ctrl-C changes nothing`() {
    // The simulated vehicle hardly ever stands, so this calibration waits.
    let first = Program(["calibrate", "mount"], environment: alone)
    #expect(first.logs("0 %"))
    let second = Program(["calibrate", "gyro"], environment: alone)
    #expect(second.wait() == 69)
    #expect(second.standardError.contains("another calibration is in progress"))
    first.send(SIGINT)
    #expect(first.wait() == 69)
    #expect(first.standardError.contains("nothing was changed"))
    #expect(access(file, F_OK) != 0)
  }

  @Test func `a magnetometer is calibrated from live samples, and a device is selected by its name`() {
    // The simulated vehicle does not turn over, so only some directions are seen. On a busy machine that takes a while.
    let mag = Program(["calibrate", "mag", "--timeout", "20"], environment: alone)
    #expect(mag.wait() == 65)
    #expect(mag.standardError.contains("% of what mag needs"), "\(mag.standardError)")
    #expect(!mag.standardError.contains("no result: 0 %"), "\(mag.standardError)")
    let recording = restRecording()
    let wrong = Program(["calibrate", "gyro", "--imu", recording, "--device", "mag"], environment: state)
    #expect(wrong.wait() == 65 && wrong.standardError.contains("'mag' is not an IMU"), "\(wrong.standardError)")
    for (device, message) in [("nobody", "has no device 'nobody'"), ("baro", "'baro' is not an IMU")] {
      let gyro = Program(["calibrate", "gyro", "--device", device], environment: alone)
      #expect(gyro.wait() == 65)
      #expect(gyro.standardError.contains(message), "\(gyro.standardError)")
    }
  }

  @Test func `an invalid calibration file is reported with line and key, and the hub runs without it`() {
    mkdir(folder + "/calibration", 0o755)
    HubProcess.write("{ gyro: { at: 1, quality: 1, bais: [0, 0, 0] } }", to: file)
    let board = folder + "/board.json5"
    HubProcess.write(HubProcess.simulatedBoard(gpsd: SocketClient.freePort(), nmea: SocketClient.freePort()), to: board)
    let check = Program(["check", board], environment: state)
    #expect(check.wait() == 65)
    #expect(check.standardError.contains("did you mean 'gyro.bias'?"), "\(check.standardError)")
    #expect(check.standardError.contains("next: calibrate the chip again"), "\(check.standardError)")
    let run = Program(["run", "--socket", folder + "/hub.sock"], environment: state)
    #expect(run.logs("fused  "), "\(run.standardError)")
    #expect(run.standardError.contains("imu: continuing without its calibration"), "\(run.standardError)")
    #expect(run.standardError.contains("did you mean 'gyro.bias'?"), "\(run.standardError)")
    run.send(SIGINT)
    #expect(run.wait() == 0)
  }
}
