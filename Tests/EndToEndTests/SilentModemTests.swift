import Glibc
import TestSupport
import Testing

/// A hub that asks ModemManager for a modem's receiver, and gets no answer. A program takes the place of ModemManager
/// on the test's own bus.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SilentModemTests {
  private let temporary = TemporaryFolder("silent-modem")
  private let bus: Program
  private var environment: [String] { ["DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(temporary.path)/bus"] }

  init() {
    bus = Program(
      ["--session", "--nofork", "--print-address", "--address=unix:path=\(temporary.path)/bus"],
      path: "/usr/bin/dbus-daemon")
    _ = bus.prints("unix:path=")
  }

  /// Starts a program that has ModemManager's name and leaves calls without an answer.
  ///
  /// - Parameters:
  ///   - modemCount: how many modems the program lists; 0 if it does not even answer the request for the list
  ///   - options: "late" for modems with a receiver, and answers to questions after eight seconds
  private func silentManager(modemCount: Int, _ options: String...) -> Program {
    let program = Program(
      [SharedData.packageFolder + "/Tests/EndToEndTests/silent-modemmanager.py", "\(modemCount)"] + options,
      path: "/usr/bin/python3", environment: environment)
    #expect(program.prints("ready"), "\(program.standardError)")
    return program
  }

  /// A hub that prefers the modem's receiver, and has another one.
  private func hub() -> HubProcess {
    let power = { (line: String) in
      "power: { switch: \"gpio\", chip: \"simulated\", line: \"\(line)-power\", lingerSeconds: 0.2 }"
    }
    return HubProcess(
      board: """
        { name: "modem", devices: { lte: { driver: "nmea", port: "modem://" },
          gps: { driver: "nmea", port: "simulated/gps", speed: 9600, \(power("gps")) },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", \(power("imu")) } } }
        """, environment: environment)
  }

  private func stop(_ program: Program) {
    program.send(SIGTERM)
    program.wait()
  }

  /// Whether the hub sends further states.
  private func goesOn(_ watch: Program) -> Bool {
    let count = watch.standardOutput.count
    return watch.prints { _ in watch.standardOutput.count > count + 2000 }
  }

  @Test func `a ModemManager that never answers is an error after its time limit, and other devices go on`() {
    let modems = silentManager(modemCount: 0)
    let hub = hub()
    let watch = hub.watch()
    #expect(modems.prints("GetManagedObjects"), "\(modems.standardError)")
    // The other devices do not wait for the call to return.
    #expect(watch.prints("\"attitude\"") && goesOn(watch))
    #expect(hub.logs("lte: failed: the receiver of modem:// (Connection timed out)"), "\(hub.devicesNow["lte"])")
    #expect(watch.prints("\"source\":\"gps\"") && goesOn(watch))
    stop(watch)
    #expect(eventually { hub.devicesNow["gps"].power == "off" && hub.devicesNow["imu"].power == "off" })
    #expect(hub.stop() == 0)
    stop(modems)
    stop(bus)
  }

  @Test func `the hub finds out at once that modems have no receiver, even if they do not answer`() {
    let modems = silentManager(modemCount: 5)
    let hub = hub()
    let watch = hub.watch()
    #expect(hub.logs("lte: failed: there is no modem with a receiver at modem://"), "\(hub.devicesNow["lte"])")
    #expect(!modems.standardOutput.contains("Get\n"), "\(modems.standardOutput)")
    stop(watch)
    #expect(hub.stop() == 0)
    stop(modems)
    stop(bus)
  }

  @Test func `a reader that waits for ModemManager for too long counts as hanging, and other devices go on`() {
    // The hub waits up to ten seconds for each of its questions, one after the other.
    let modems = silentManager(modemCount: 1, "late")
    let hub = hub()
    let watch = hub.watch()
    #expect(modems.prints("Get"), "\(modems.standardError)")
    #expect(hub.logs("lte: failed: the reader of lte hangs"), "\(hub.devicesNow["lte"])")
    #expect(watch.prints("\"source\":\"gps\"") && goesOn(watch))
    stop(watch)
    #expect(eventually { hub.devicesNow["gps"].power == "off" && hub.devicesNow["imu"].power == "off" })
    // The end does not wait for the reader.
    #expect(hub.stop() == 0)
    stop(modems)
    stop(bus)
  }
}
