import Glibc
import TestSupport
import Testing

/// The receiver of a modem, by way of ModemManager's D-Bus interface. A program takes the place of ModemManager on the
/// test's own bus.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ModemTests {
  private let temporary = TemporaryFolder("modem")
  private let bus = SystemBus()

  private func standIn(_ arguments: [String]) -> Program {
    Program(
      [SharedData.packageFolder + "/Tests/EndToEndTests/modemmanager.py"] + arguments, path: "/usr/bin/python3",
      environment: bus.environment)
  }

  private func modemManager(_ arguments: String...) -> Program {
    let program = standIn(arguments)
    #expect(program.prints("ready"), "\(program.standardError)")
    return program
  }

  private func stop(_ program: Program) {
    program.send(SIGTERM)
    program.wait()
  }

  @Test func `the receiver of a modem is on while a client needs it, and the earlier settings are restored`() {
    let hub = HubProcess(
      board: "{ name: \"modem\", devices: { lte: { driver: \"nmea\", port: \"modem://\" } } }",
      environment: bus.environment)
    let early = hub.watch()
    #expect(eventually { hub.devicesNow.devices.contains { $0.reason.contains("ModemManager does not run") } })
    stop(early)
    // The failure is shown until another client asks for the receiver.
    #expect(eventually { hub.devicesNow["lte"].holders.isEmpty })
    let modems = modemManager()
    #expect(!modems.standardOutput.contains("setup"), "\(modems.standardOutput)")
    let watch = hub.watch()
    let hasFix = watch.prints("\"mode\":\"gnss\"") && watch.prints("\"source\":\"lte\"")
    #expect(hasFix, "\(hub.devicesNow) \(hub.program.standardError) \(modems.standardError)")
    #expect(modems.standardOutput.contains("refresh 0\nsetup 5 True\n"), "\(modems.standardOutput)")
    stop(watch)
    #expect(modems.prints("setup 1 False\nenabled 1\nrefresh 30\n"), "\(modems.standardOutput)")
    #expect(hub.comesToRest())
    // ModemManager is restarted while a client needs the receiver.
    let second = hub.watch()
    #expect(second.prints("\"source\":\"lte\""))
    stop(modems)
    #expect(eventually { hub.devicesNow.devices.contains { $0.reason.contains("modem:// has gone away") } })
    let again = modemManager()
    #expect(again.prints("setup 5 True"), "\(again.standardOutput)")
    stop(second)
    #expect(again.prints("setup 1 False"), "\(again.standardOutput)")
    #expect(hub.stop() == 0)
    stop(again)
  }

  @Test func `the next hub switches off a receiver that a killed hub has left on, but not one that another hub uses`() {
    let modems = modemManager()
    let board = "{ name: \"modem\", devices: { lte: { driver: \"nmea\", port: \"modem://3\" } } }"
    let first = HubProcess(board: board, environment: bus.environment)
    let early = first.watch()
    #expect(early.prints("\"source\":\"lte\""))
    let other = HubProcess(board: board, environment: bus.environment)
    #expect(other.logs("the receiver of modem://3, which a hub has switched on, is in use"))
    #expect(other.stop() == 0)
    let count = early.standardOutput.count
    #expect(early.prints { _ in early.standardOutput.count > count + 2000 })
    first.program.send(SIGKILL)
    first.program.wait()
    #expect(!modems.standardOutput.contains("setup 1"), "\(modems.standardOutput)")
    let second = HubProcess(board: board, environment: bus.environment)
    #expect(modems.prints("setup 1 False\nenabled 1\nrefresh 30\n"), "\(modems.standardOutput)")
    #expect(second.devicesNow["lte"].wakes == 0)
    let watch = second.watch()
    #expect(watch.prints("\"source\":\"lte\""))
    stop(watch)
    let off = "setup 1 False\nenabled 1\nrefresh 30\n"
    #expect(modems.prints("setup 5 True\nenabled 5\n" + off), "\(modems.standardOutput)")
    #expect(second.stop() == 0)
    stop(modems)
  }

  @Test func `a second hub does not use a receiver that the first one uses, and gets it afterwards`() {
    let modems = modemManager()
    let (first, second) = (hub(), hub())
    let early = first.watch()
    #expect(early.prints("\"source\":\"lte\""))
    let late = second.watch()
    #expect(eventually { second.devicesNow["lte"].reason.contains("is in use") }, "\(second.devicesNow)")
    let (on, off) = ("refresh 0\nsetup 5 True\nenabled 5\n", "setup 1 False\nenabled 1\nrefresh 30\n")
    #expect(modems.standardOutput == "ready\n" + on, "\(modems.standardOutput)")
    stop(early)
    #expect(late.prints("\"source\":\"lte\""), "\(second.devicesNow) \(modems.standardOutput)")
    stop(late)
    #expect(eventually { modems.standardOutput == "ready\n" + on + off + on + off }, "\(modems.standardOutput)")
    #expect(first.stop() == 0 && second.stop() == 0)
    stop(modems)
  }

  @Test func `a client has the receiver even if a slow modem still switches it off for the start of the hub`() {
    let modems = modemManager("slow")
    let first = hub()
    let early = first.watch()
    #expect(early.prints("\"source\":\"lte\""))
    first.program.send(SIGKILL)
    first.program.wait()
    let second = hub()
    #expect(second.logs("lte: it cannot be switched off: no answer for 4 s"))
    let watch = second.watch()
    #expect(watch.prints("\"source\":\"lte\""), "\(second.devicesNow) \(modems.standardOutput)")
    stop(watch)
    #expect(second.stop() == 0)
    let (on, off) = ("refresh 0\nsetup 5 True\nenabled 5\n", "setup 1 False\nenabled 1\nrefresh 30\n")
    let all = "ready\n" + on + off + on + off
    #expect(modems.prints { _ in modems.standardOutput == all }, "\(modems.standardOutput)")
    stop(modems)
  }

  @Test func `a hub leaves a receiver on that GeoClue uses, although GeoClue's interval equals the hub's mark`() {
    let modems = modemManager()
    let geoclue = standIn(["geoclue"])
    #expect(geoclue.prints("ready"), "\(geoclue.standardError)")
    let hub = hub()
    let on = "refresh 0\nsetup 5 True\nenabled 5\n"
    #expect(modems.standardOutput == "ready\n" + on, "\(modems.standardOutput)")
    let watch = hub.watch()
    #expect(watch.prints("\"source\":\"lte\""))
    stop(watch)
    #expect(hub.stop() == 0)
    let all = "ready\n" + on + on + "setup 5 True\nenabled 5\nrefresh 0\n"
    #expect(modems.prints { _ in modems.standardOutput == all }, "\(modems.standardOutput)")
    stop(geoclue)
    stop(modems)
  }

  @Test func `without a system bus the reason says what to start`() {
    let hub = HubProcess(
      board: "{ name: \"modem\", devices: { lte: { driver: \"nmea\", port: \"modem://\" } } }",
      environment: ["DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(temporary.path)/none"])
    let watch = hub.watch()
    let words = "sudo systemctl start dbus ModemManager"
    #expect(eventually { hub.devicesNow.devices.contains { $0.reason.contains(words) } }, "\(hub.devicesNow)")
    stop(watch)
    #expect(hub.stop() == 0)
  }

  private func hub() -> HubProcess {
    HubProcess(
      board: "{ name: \"modem\", devices: { lte: { driver: \"nmea\", port: \"modem://\" } } }",
      environment: bus.environment)
  }

  @Test func `a receiver that searches without a time stays on, although it reports nothing new`() {
    let modems = modemManager("cold")
    let hub = hub()
    let watch = hub.watch()
    #expect(watch.prints("\"mode\":\"gnss\""), "\(hub.devicesNow) \(modems.standardOutput)")
    #expect(modems.standardOutput == "ready\nrefresh 0\nsetup 5 True\nenabled 5\n", "\(modems.standardOutput)")
    stop(watch)
    #expect(hub.stop() == 0)
    stop(modems)
  }

  @Test func `a receiver that a slow modem switches on after the time limit is switched off later`() {
    let modems = modemManager("late")
    let hub = hub()
    let watch = hub.watch()
    #expect(watch.prints("\"source\":\"lte\""), "\(hub.devicesNow) \(modems.standardOutput)")
    #expect(modems.standardOutput.contains("setup 1 False\n"), "\(modems.standardOutput)")
    let before = modems.standardOutput.count
    stop(watch)
    #expect(modems.prints("enabled 1\nrefresh 30\n"), "\(modems.standardOutput)")
    #expect(modems.standardOutput.dropFirst(before).contains("setup 1 False\n"), "\(modems.standardOutput)")
    #expect(hub.stop() == 0)
    stop(modems)
  }

  @Test func `other programs on the bus can neither invent positions nor end the reading`() {
    let modems = modemManager()
    let hub = hub()
    let watch = hub.watch()
    #expect(watch.prints("\"source\":\"lte\""))
    #expect(standIn(["forge"]).wait() == 0)
    let positions = watch.standardOutput.count
    #expect(watch.prints { _ in watch.standardOutput.count > positions + 2000 })
    #expect(!watch.standardOutput.contains("\"lat\":10"), "\(watch.standardOutput)")
    stop(watch)
    #expect(modems.prints("refresh 30\n"), "\(modems.standardOutput)")
    #expect(
      modems.standardOutput == "ready\nrefresh 0\nsetup 5 True\nenabled 5\nsetup 1 False\nenabled 1\nrefresh 30\n",
      "\(modems.standardOutput)")
    #expect(hub.stop() == 0)
    stop(modems)
  }

  @Test(arguments: [
    ("driver: \"ublox\", port: \"modem://\"", "'nmea'"), ("driver: \"nmea\", port: \"modem://x\"", "\"modem://0\""),
    ("driver: \"nmea\", port: \"modem://1\", speed: 9600", "has no speed"),
    ("driver: \"nmea\", port: \"modem://\", ntrip: { caster: \"ntrip://c/M\" }", "corrections cannot be sent"),
    ("driver: \"nmea\", port: \"modem://\", power: { sleep: \"standby\" }", "sleep"),
  ])
  func `check refuses settings that a modem's receiver cannot have`(_ section: String, _ words: String) {
    let file = temporary.path + "/board.json5"
    HubProcess.write("{ name: \"modem\", devices: { lte: { \(section) } } }", to: file)
    let program = Program(["check", file])
    #expect(program.wait() != 0)
    #expect(program.standardError.contains(words), "\(program.standardError)")
  }

  @Test func `the service gets its rights at ModemManager only for a modem's receiver`() {
    let file = temporary.path + "/board.json5"
    for (port, isModem) in [("modem://", true), ("/dev/gnss0", false)] {
      HubProcess.write(
        "{ name: \"modem\", devices: { lte: { driver: \"nmea\", port: \"\(port)\" } } }", to: file)
      let program = Program(["check", "--device-policy", file])
      #expect(program.wait() == 0)
      #expect(program.standardOutput.contains("X-Modem=yes") == isModem, "\(program.standardOutput)")
      #expect(program.standardOutput.contains("DeviceAllow=char-gnss rw") != isModem, "\(program.standardOutput)")
    }
  }
}
