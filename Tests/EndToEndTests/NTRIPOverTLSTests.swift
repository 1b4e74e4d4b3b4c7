import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// Corrections from a caster with TLS, through the hub to a receiver on a serial line.
@Suite(.serialized, .timeLimit(.minutes(10))) struct NTRIPOverTLSTests {
  private let http = SocketClient.freePort()
  private let authority = TestAuthority()
  private let receiver: CommandedReceiver
  private let port: String

  init() throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.02
    configuration.takesCorrections = true
    receiver = CommandedReceiver(
      .ublox9, world: World(start: MonotonicClock().now), configuration: configuration)
    receiver.setPower(true)
    port = try receiver.plugIn()
  }

  private func hub(_ ntrip: String) -> HubProcess {
    let hub = HubProcess(
      board: """
        { name: "test",
          devices: { gps: { driver: "ublox", port: "\(port)", rateHz: 5, messages: "ubx", ntrip: { \(ntrip) },
            power: { lingerSeconds: 0.2 } } },
          http: { port: \(http) } }
        """, ["--no-journal-state"])
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    return hub
  }

  private func body(_ path: String) -> String { HTTPAnswer(http, "GET", path).body }

  private func subscriber() -> SocketClient {
    let stream = SocketClient(port: http)
    stream.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return stream
  }

  /// A caster that sends a message repeatedly while the client accepts it.
  private let caster = ScriptedCaster { visit in
    visit.send("ICY 200 OK\r\n\r\n")
    var looks = 0
    hold {
      looks += 1
      if looks % 20 == 1 { visit.send(MadeMessage.correction(1005)) }
      return !visit.isOpen
    }
  }

  @Test func `corrections reach the receiver, and the caster is left when no client needs them`() {
    let front = TLSFront(authority.certificate("caster", for: "DNS:localhost"), to: caster.port)
    let hub = hub("caster: \"ntrips://localhost:\(front.port)/BASE\", caFile: \"\(authority.file)\"")
    let stream = subscriber()
    #expect(eventually { receiver.commands.contains(.correction(1005)) }, "\(hub.program.standardError)")
    #expect(hub.logs("gps: corrections come from ntrips://localhost:\(front.port)/BASE"))
    #expect(caster.visits.values.first?.path == "/BASE")
    stream.leave()
    #expect(eventually { body("/devices").contains("\"phase\":\"off\"") }, "\(body("/devices"))")
    #expect(eventually { caster.visits.values.allSatisfy { !$0.isOpen } })
    #expect(hub.stop() == 0)
    receiver.hangUp()
  }

  @Test func `a caster with a wrong certificate is reported on the devices, and gets no request`() {
    let front = TLSFront(authority.certificate("caster", for: "DNS:elsewhere.example"), to: caster.port)
    let hub = hub("caster: \"ntrips://localhost:\(front.port)/BASE\", caFile: \"\(authority.file)\"")
    let stream = subscriber()
    #expect(
      eventually {
        body("/devices").contains(
          "no corrections from ntrips://localhost:\(front.port)/BASE: the caster's certificate is not for localhost: ")
      }, "\(body("/devices"))")
    #expect(caster.visits.values.isEmpty)
    stream.leave()
    #expect(hub.stop() == 0)
    receiver.hangUp()
  }
}
