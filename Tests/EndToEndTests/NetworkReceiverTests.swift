import Glibc
import TestSupport
import Testing

/// Receivers on the network: Debian's gpsd, and the program's messages about network sources.
@Suite(.serialized, .timeLimit(.minutes(10))) struct NetworkReceiverTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  private func reader(of port: String) -> HubProcess {
    HubProcess(board: "{ name: \"reader\", devices: { remote: { driver: \"nmea\", port: \"\(port)\" } } }")
  }

  @Test func `a hub reads Debian's gpsd while a client needs it`() throws {
    let source = HubProcess.simulated(gpsd: SocketClient.freePort(), nmea: nmea)
    let daemon = Program(
      ["-N", "-S", "\(gpsd)", "tcp://127.0.0.1:\(nmea)"], path: "/usr/sbin/gpsd")
    let hub = reader(of: "gpsd://127.0.0.1:\(gpsd)")
    let watch = hub.watch()
    let hasFix = watch.prints("\"mode\":\"gnss\"") && watch.prints("\"source\":\"remote\"")
    #expect(hasFix, "\(hub.devicesNow) \(hub.program.standardError) \(daemon.standardError)")
    watch.send(SIGTERM)
    watch.wait()
    #expect(hub.comesToRest())
    daemon.send(SIGTERM)
    daemon.wait()
    #expect(hub.stop() == 0)
    #expect(source.stop() == 0)
  }

  @Test(arguments: [
    ("{ driver: \"ublox\", port: \"gpsd://host\" }", "a tcp:// address for driver 'ublox'"),
    ("{ driver: \"nmea\", port: \"udp://:1\", ntrip: { caster: \"ntrip://c/M\" } }", "corrections cannot be sent"),
    ("{ driver: \"nmea\", port: \"tcp://host:1\", speed: 9600 }", "has no speed"),
    ("{ driver: \"nmea\", port: \"http://host:1\" }", "\"udp://:10110\""),
  ])
  func `check refuses settings that a network source cannot have`(_ section: String, _ words: String) {
    let folder = TemporaryFolder("network-source")
    let file = folder.path + "/board.json5"
    HubProcess.write("{ name: \"reader\", devices: { remote: \(section) } }", to: file)
    let program = Program(["check", file])
    #expect(program.wait() != 0)
    #expect(program.standardError.contains(words), "\(program.standardError)")
  }

  @Test func `the service's sandbox allows only the network source`() {
    let folder = TemporaryFolder("network-source")
    let file = folder.path + "/board.json5"
    HubProcess.write(
      "{ name: \"reader\", devices: { remote: { driver: \"nmea\", port: \"tcp://192.168.1.7:10110\" } } }", to: file)
    let program = Program(["check", "--device-policy", file])
    #expect(program.wait() == 0)
    #expect(program.standardOutput.contains("RestrictAddressFamilies=AF_INET AF_INET6"), "\(program.standardOutput)")
    #expect(program.standardOutput.contains("IPAddressAllow=192.168.1.7"), "\(program.standardOutput)")
  }
}
