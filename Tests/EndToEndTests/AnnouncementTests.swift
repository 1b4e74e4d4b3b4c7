import Glibc
import TestSupport
import Testing

/// The services that other machines find by mDNS, through Debian's Avahi on the test's own bus.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: RootRights.areWanted, "left out by SKIP=root"))
struct AnnouncementTests {
  private let temporary = TemporaryFolder("avahi")
  private let bus = SystemBus()

  init() throws {
    try RootRights.require()
    HubProcess.write(
      """
      [server]
      host-name=hub-\(getpid())
      use-ipv6=no
      [wide-area]
      enable-wide-area=no
      [publish]
      publish-hinfo=no
      publish-workstation=no

      """, to: temporary.path + "/avahi.conf")
  }

  /// Debian's daemon. It needs root, because it writes its process number to /run.
  private func avahi() -> Program {
    let daemon = Program(
      ["-f", temporary.path + "/avahi.conf", "--no-drop-root", "--no-chroot", "--no-rlimits"],
      path: "/usr/sbin/avahi-daemon", environment: bus.environment)
    #expect(daemon.logs("Server startup complete"), "\(daemon.standardError)")
    return daemon
  }

  /// The services of a type that a machine on the network finds.
  private func services(_ type: String) -> String {
    let browse = Program(["-rpt", type], path: "/usr/bin/avahi-browse", environment: bus.environment)
    browse.wait()
    return browse.standardOutput
  }

  @Test func `a port that other machines may connect to is announced, also after Avahi restarts`() {
    let (gpsd, signalK) = (SocketClient.freePort(), SocketClient.freePort())
    let open = "address: \"0.0.0.0\", allow: [\"192.0.2.0/24\"]"
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("gpsd: { port: \(gpsd) }, signalk: { port: \(signalK), \(open) }"),
      environment: bus.environment)
    // Without Avahi the hub logs one line and continues.
    #expect(hub.logs("not announced to the network: avahi-daemon is not running"), "\(hub.program.standardError)")
    var daemon = avahi()
    let announced = "announced to the network as 'SensorHub test': _signalk-tcp._tcp \(signalK)\n"
    #expect(hub.logs(announced), "\(hub.program.standardError)")
    var found = ""
    let isFound = eventually {
      found = services("_signalk-tcp._tcp")
      return found.contains(";\(signalK);")
    }
    #expect(isFound && found.contains("\"roles=master, main\""), "\(found)")
    #expect(found.contains("\"self=vessels.urn:mrn:signalk:uuid:"), "\(found)")
    // The port for this machine alone is not announced.
    #expect(!services("_gpsd._tcp").contains(";\(gpsd);"))
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    daemon.send(SIGTERM)
    daemon.wait()
    daemon = avahi()
    let isAgain = hub.logs { $0.split(separator: "announced to the network as").count == 3 }
    #expect(isAgain, "\(hub.program.standardError)")
    #expect(eventually { services("_signalk-tcp._tcp").contains(";\(signalK);") })
    #expect(hub.stop() == 0)
    #expect(eventually { !services("_signalk-tcp._tcp").contains(";\(signalK);") })
    daemon.send(SIGTERM)
    daemon.wait()
  }

  @Test func `a board whose ports are open only to this machine announces nothing`() {
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("gpsd: { port: \(SocketClient.freePort()) }"), environment: bus.environment)
    #expect(hub.stop() == 0)
    #expect(!hub.program.standardError.contains("announced"), "\(hub.program.standardError)")
  }
}
