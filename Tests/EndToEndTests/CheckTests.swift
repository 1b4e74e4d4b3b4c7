import Glibc
import TestSupport
import Testing

/// `check` reports what `run` would leave out.
@Suite(.timeLimit(.minutes(10))) struct CheckTests {
  private static let gps =
    "{ driver: \"nmea\", port: \"simulated/gps\", power: { switch: \"gpio\", chip: \"simulated\", line: "
    + "\"gps-power\" } }"

  private func check(_ board: String, options: [String] = [], environment: [String] = []) -> Program {
    let folder = TemporaryFolder("check")
    let file = folder.path + "/board.json5"
    HubProcess.write(board, to: file)
    let program = Program(["check", file] + options, environment: environment)
    program.wait()
    return program
  }

  @Test func `check reports all mistakes at once, and how long the recorder's space lasts`() {
    let wrong = check(
      "{ nam: \"x\",\n devices: { gps: { driver: \"nmea\", port: 5 } },\n state: { rateHz: \"fast\" },\n"
        + " http: { hosts: [\"https://hub.example\"] } }")
    #expect(wrong.wait() == 65)
    for mistake in [
      ":1: unknown key 'nam'; did you mean 'name'?", ":2: 'devices.gps.port' must be", ":3: 'state.rateHz'",
    ] {
      #expect(wrong.standardError.contains(mistake), "\(wrong.standardError)")
    }
    #expect(!wrong.standardError.contains("'name' is missing"), "\(wrong.standardError)")
    let record = check("{ name: \"x\", devices: {}, record: { path: \"/nowhere/at/all\" } }")
    #expect(
      record.standardOutput.contains("the hub knows how long 1000 MB last after it has recorded for half a minute"))
    #expect(record.standardOutput.contains("to record it, set 'wakes: true' in 'record'"), "\(record.standardOutput)")
    let requests = check(
      "{ name: \"x\", devices: { gps: \(CheckTests.gps) }, requests: [{ name: \"log\", every: 600 }], "
        + "record: { path: \"/nowhere/at/all\" } }")
    #expect(
      requests.standardOutput.contains("no client watches, the fixes of the requests are recorded: 'log'"),
      "\(requests.standardOutput)")
    #expect(!requests.standardOutput.contains("wakes"), "\(requests.standardOutput)")
  }

  @Test(arguments: [
    ("http: { address: \"0.0.0.0\" }", "clients on other machines need a token"),
    ("http: { address: \"::\", allow: [\"192.168.1.0/24\"] }", "clients on other machines need a token"),
    ("http: { tokenFile: \"/nowhere/token\" }", "cannot be read from /nowhere/token"),
    ("http: { tokenFile: \"/dev/null\" }", "/dev/null: it is not a regular file"),
    ("http: { hosts: [\"https://hub.example\"] }", "'http.hosts' has 'https://hub.example': give only a name"),
    ("http: { hosts: [\"hub.example:8080\"] }", "give only a name"),
    (
      "mqtt: { broker: \"mqtts://broker\", caFile: \"/nowhere/ca\" }",
      "mqtts://broker:8883 cannot be used: 'mqtt.caFile' cannot be read from /nowhere/ca"
    ),
    (
      "mqtt: { broker: \"mqtts://broker\", username: \"a\", passwordFile: \"/nowhere/p\" }",
      "'mqtt.passwordFile' cannot be read from /nowhere/p"
    ),
    (
      "devices: { gps: { driver: \"nmea\", port: \"simulated/gsp\" } }",
      "'devices.gps.port' is 'simulated/gsp', but no simulated device has this name; did you mean 'simulated/gps'? "
        + "valid ones are simulated/gps, simulated/gps2, simulated/ublox-6,"
    ),
    (
      "devices: { imu: { driver: \"mpu-6050\", bus: \"simulated/i2c-1\" } }",
      "did you mean 'simulated/i2c'? the only valid one is simulated/i2c\n"
    ),
    ("gpsd: { port: 4000 }, nmea: { port: 4000 }", "'nmea.port' is 4000, which 'gpsd' already uses"),
    ("gpsd: { port: 4000, address: \"0.0.0.0\", allow: [\"10.0.0.0/8\"] }, http: { port: 4000 }", "'http.port' is"),
    ("nmea: { port: 4000, address: \"::\", allow: [\"10.0.0.0/8\"] }, http: { port: 4000 }", "'http.port' is"),
    ("nmea: [{}, { source: \"fused\" }]", "'nmea[1].port' is 10110, which 'nmea[0]' already uses"),
    (
      "nmea: [{ udp: \"10.0.0.255:10110\" }, {}, { udp: \"10.0.0.255:10110\", source: \"fused\" }]",
      "'nmea[2].udp' is 10.0.0.255:10110, which 'nmea[0]' already uses"
    ),
    ("chrony: { socket: \"/run/chrony.sock\" }, devices: {}", "needs a receiver for the time"),
    ("chrony: { socket: \"chrony.sock\" }", "'chrony.socket' must be an absolute path"),
    (
      "devices: { gps: \(CheckTests.gps), imu: { driver: \"mpu-6050\", bus: \"simulated/i2c\", "
        + "dataReady: { chip: \"simulated\", line: \"gps-power\" } } }",
      "'devices.imu.dataReady' is the line simulated/gps-power, which 'devices.gps.power' already uses"
    ),
    (
      "devices: { gps: \(CheckTests.gps), other: { driver: \"nmea\", port: \"simulated/gps\" } }",
      "'devices.other' is at simulated/gps, where 'devices.gps' is already"
    ),
    (
      "devices: { a: { driver: \"mpu-6050\", bus: \"i2c-9\" }, b: { driver: \"bmi160\", bus: \"/dev/i2c-9\", "
        + "address: 0x68 } }",
      "'devices.b' is at 0x68 on /dev/i2c-9, where 'devices.a' is already"
    ),
    (
      "devices: { gps: \(CheckTests.gps), imu: { driver: \"mpu-6050\", bus: \"simulated/i2c\", "
        + "power: { switch: \"gpio\", chip: \"simulated\", line: \"gps-power\", activeLow: true } } }",
      "'devices.imu.power' is the line simulated/gps-power with another 'activeLow' than 'devices.gps.power'"
    ),
  ])
  func `check refuses a setting that no hub can use`(_ entry: String, _ reason: String) {
    let devices = entry.contains("devices:") ? "" : "devices: { gps: \(CheckTests.gps) }, "
    let program = check("{ name: \"test\", \(devices)\(entry) }")
    #expect(program.wait() == 65)
    #expect(program.standardError.contains(reason), "\(program.standardError)\(program.standardOutput)")
    #expect(program.standardError.contains("next: correct the file"))
  }

  @Test func `check on another machine does not count the board's secret files as missing`() {
    let board = """
      { name: "test", devices: { gps: { driver: "nmea", port: "/dev/ttyUSB97" } },
        http: { address: "0.0.0.0", tokenFile: "/nowhere/token" },
        mqtt: { broker: "mqtts://broker", username: "a", passwordFile: "/etc/sensorhub/p", caFile: "/nowhere/ca" } }
      """
    let elsewhere = check(board)
    #expect(elsewhere.wait() == 0, "\(elsewhere.standardError)")
    #expect(elsewhere.standardOutput.contains("valid; the board is 'test'"))
    for file in [
      "'http.tokenFile': /nowhere/token", "'mqtt.passwordFile': /etc/sensorhub/p", "'mqtt.caFile': /nowhere/ca",
    ] {
      #expect(elsewhere.standardError.contains("missing on this machine, and needed on the board: \(file)\n"))
    }
    let there = check(board, options: ["--device"])
    #expect(there.wait() == 65)
    #expect(there.standardError.contains("cannot be read from /nowhere/token"), "\(there.standardError)")
    // One of the devices is here, so this is the board.
    let recognised = check(board.replacing("/dev/ttyUSB97", with: "/dev/null"))
    #expect(recognised.wait() == 65)
    #expect(recognised.standardError.contains("cannot be read from /nowhere/ca"), "\(recognised.standardError)")
  }

  @Test func `check says that clients need a token`() {
    let file = "/tmp/sensorhub-test-\(getpid())-token"
    HubProcess.write("sixteen characters", to: file)
    defer { unlink(file) }
    let program = check("{ name: \"test\", http: { address: \"0.0.0.0\", tokenFile: \"\(file)\" } }")
    #expect(program.standardOutput.contains("open to every machine, with the token\n"), "\(program.standardOutput)")
  }

  @Test(arguments: [
    "http: {}", "http: { address: \"::1\", hosts: [\"hub.example\"] }", "gpsd: { port: 4000 }, nmea: { port: 4001 }",
    "gpsd: { port: 4000 }, http: { port: 4000, address: \"::1\" }",
    "gpsd: { port: 4000, address: \"127.0.0.2\" }, http: { port: 4000 }",
    "nmea: [{}, { port: 10111, source: \"fused\", rateHz: 5, sentences: [\"RMC\", \"GGA\"] }]",
    "nmea: [{}, { address: \"::1\" }]", "nmea: []",
  ])
  func `check reports valid settings as valid`(_ entry: String) {
    let program = check("{ name: \"test\", \(entry) }")
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(program.standardOutput.contains("valid; the board is 'test'"))
  }

  @Test func `check warns about a rate that the bus cannot carry, on any machine`() {
    let program = check(
      "{ name: \"test\", devices: { imu: { driver: \"mpu-6050\", bus: \"/dev/i2c-97\", rateHz: 1000 } } }")
    #expect(program.wait() == 0)
    #expect(program.standardOutput.contains("valid; the board is 'test'"))
    #expect(program.standardError.hasPrefix("warning: /dev/i2c-97 at 100 kHz, the usual speed, would be busy for 1"))
    #expect(program.standardError.contains("i2c_arm_baudrate=400000"), "\(program.standardError)")
  }

  @Test func `check looks at this machine's devices only when told to`() {
    let board =
      "{ name: \"test\", devices: { gps: { driver: \"nmea\", port: \"/dev/ttyUSB97\", pps: \"/dev/pps97\" } } }"
    #expect(check(board).standardError.isEmpty)
    let looked = check(board, options: ["--device"])
    #expect(looked.wait() == 0)
    #expect(looked.standardError.contains("warning: gps: there is no /dev/ttyUSB97; plug the receiver in"))
    #expect(looked.standardError.contains("warning: gps: there is no /dev/pps97"), "\(looked.standardError)")
  }

  @Test(arguments: [
    ("/dev/ttyAMA7", ["ttyAMA"]), ("/dev/serial0", ["ttyAMA", "ttyS"]),
    ("/dev/serial/by-path/nothing", ["ttyACM", "ttyUSB"]),
    // The link may lead to the header's port today and to an adapter's tomorrow.
    ("/dev/sensorhub/gps", ["ttyACM", "ttyAMA", "ttyS", "ttyUSB"]),
  ])
  func `the sandbox allows each kind of port that a name may stand for`(_ port: String, _ kinds: [String]) {
    let policy = check(
      "{ name: \"test\", devices: { gps: { driver: \"nmea\", port: \"\(port)\" } } }", options: ["--device-policy"])
    #expect(policy.wait() == 0)
    #expect(policy.lines.filter { $0.hasPrefix("Device") } == kinds.map { "DeviceAllow=char-\($0) rw" })
  }

  @Test func `the sandbox has a network only if the board has a port`() {
    let network = { (entry: String) in
      check("{ name: \"test\"\(entry) }", options: ["--device-policy"]).lines
        .filter { $0.hasPrefix("RestrictAddressFamilies") || $0.hasPrefix("IPAddress") }
    }
    #expect(network("").isEmpty)
    for entry in [", gpsd: {}", ", http: {}", ", nmea: [{}]", ", nmea: { udp: \"127.0.0.1:4000\" }"] {
      #expect(network(entry) == ["RestrictAddressFamilies=AF_INET AF_INET6", "IPAddressAllow=localhost"], "\(entry)")
    }
    #expect(
      network(", mavlink: { to: \"udp://192.0.2.7:14550\" }")
        == ["RestrictAddressFamilies=AF_INET AF_INET6", "IPAddressAllow=localhost", "IPAddressAllow=192.0.2.7"])
    #expect(network(", nmea2000: { interface: \"can0\" }") == ["RestrictAddressFamilies=AF_CAN"])
    #expect(network(", signalk: { server: \"ws://192.0.2.7\" }").last == "IPAddressAllow=192.0.2.7")
    #expect(network(", signalk: { server: \"ws://boat.local\" }").last == "IPAddressAllow=any")
    #expect(
      network(", gpsd: { address: \"0.0.0.0\", allow: [\"192.0.2.0/24\"] }").contains("IPAddressAllow=192.0.2.0/24"))
  }

  @Test(arguments: [
    ("mqtt://192.0.2.7", ["192.0.2.7"]), ("mqtts://[2001:db8::7]", ["2001:db8::7"]),
    ("mqtts://broker.example", ["any"]),
    ("mqtt://localhost", []), ("mqtt://127.0.0.1", []),
  ])
  func `the sandbox allows the broker's address, or all addresses if the broker has a name`(
    _ broker: String, _ networks: [String]
  ) {
    let policy = check("{ name: \"test\", mqtt: { broker: \"\(broker)\" } }", options: ["--device-policy"])
    #expect(policy.wait() == 0)
    #expect(policy.lines.filter { $0.hasPrefix("IP") } == (["localhost"] + networks).map { "IPAddressAllow=\($0)" })
  }

  @Test func `the sandbox names a network once, however many peers are in it`() {
    let policy = check(
      """
      { name: "test", mqtt: { broker: "mqtts://broker.example" }, devices: { gps: {
          driver: "nmea", port: "/dev/serial0", ntrip: { caster: "ntrip://caster.example/BASE" } } } }
      """, options: ["--device-policy"])
    #expect(policy.wait() == 0)
    #expect(policy.lines.filter { $0.hasPrefix("IP") } == ["IPAddressAllow=localhost", "IPAddressAllow=any"])
  }

  @Test(arguments: [("192.0.2.7", ["192.0.2.7"]), ("caster.example", ["any"]), ("127.0.0.1", [])])
  func `the sandbox allows the caster`(_ host: String, _ networks: [String]) {
    let policy = check(
      "{ name: \"test\", devices: { gps: { driver: \"nmea\", port: \"/dev/serial0\", "
        + "ntrip: { caster: \"ntrip://\(host)/BASE\" } } } }", options: ["--device-policy"])
    #expect(policy.wait() == 0)
    #expect(policy.lines.filter { $0.hasPrefix("IP") } == (["localhost"] + networks).map { "IPAddressAllow=\($0)" })
  }

  @Test func `check reports a caster password that cannot be read, and names the caster if it can`() {
    let check = { (file: String) in
      self.check(
        "{ name: \"test\", devices: { gps: { driver: \"nmea\", port: \"simulated/gps\", ntrip: { "
          + "caster: \"ntrip://me@caster.example/BASE\", passwordFile: \"\(file)\", gga: true } } } }",
        environment: ["CREDENTIALS_DIRECTORY=/etc"])
    }
    let missing = check("/nowhere/at/all")
    #expect(missing.wait() != 0)
    #expect(missing.standardError.contains("'devices.gps.ntrip.passwordFile' cannot be read from /nowhere/at/all"))
    let right = check("/etc/hostname")
    #expect(right.wait() == 0)
    #expect(
      right.standardOutput.contains(
        "corrections from ntrip://caster.example:2101/BASE, which gets the position every 10 s"))
  }

  @Test func `the service conflicts with the login on a serial port that the board uses`() {
    let board = { (port: String) in
      "{ name: \"test\", devices: { gps: { driver: \"nmea\", port: \"\(port)\" } } }"
    }
    // Not every machine has a serial port, but each has /dev/tty.
    let policy = check(board("/dev/tty"), options: ["--device-policy"])
    #expect(policy.standardOutput.contains("[Unit]\nConflicts=serial-getty@tty.service\n[Service]\n"))
    #expect(!check(board("simulated/gps"), options: ["--device-policy"]).standardOutput.contains("Conflicts"))
  }

  @Test func `a systemd credential is accepted as the token`() {
    let folder = TemporaryFolder("credentials")
    HubProcess.write("correct horse battery staple\n", to: folder.path + "/http-token")
    let board = "{ name: \"test\", http: { address: \"0.0.0.0\" } }"
    #expect(check(board, environment: ["CREDENTIALS_DIRECTORY=\(folder.path)"]).wait() == 0)
  }

  @Test func `for a file with a mistake, check does not suggest running check`() {
    let program = check("{ name: \"test\", devcies: {} }")
    #expect(program.wait() == 65)
    #expect(program.standardError.contains("did you mean 'devices'?"), "\(program.standardError)")
    #expect(program.standardError.contains("next: correct the file, and check it again"), "\(program.standardError)")
    #expect(!program.standardError.contains("sensorhub check"), "\(program.standardError)")
  }
}
