import Glibc
import Simulation
import TestSupport
import Testing

/// Corrections from a caster with TLS, through the hub to a receiver on a serial line.
@Suite(.serialized, .timeLimit(.minutes(10))) struct NTRIPOverTLSTests {
  private let authority = TestAuthority()
  private let rover: CorrectedReceiver

  init() throws { rover = try CorrectedReceiver() }

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

  @Test func `corrections reach the receiver, and the hub disconnects from the caster when no client needs them`() {
    let front = TLSFront(authority.certificate("caster", for: "DNS:localhost"), to: caster.port)
    let hub = rover.hub("caster: \"ntrips://localhost:\(front.port)/BASE\", caFile: \"\(authority.file)\"")
    let stream = rover.subscriber()
    #expect(eventually { rover.receiver.commands.contains(.correction(1005)) }, "\(hub.program.standardError)")
    #expect(hub.logs("gps: corrections come from ntrips://localhost:\(front.port)/BASE"))
    #expect(caster.visits.values.first?.path == "/BASE")
    stream.leave()
    #expect(eventually { rover.body("/devices").contains("\"phase\":\"off\"") }, "\(rover.body("/devices"))")
    #expect(caster.visits.values.allSatisfy { $0.waitsForEnd() })
    #expect(hub.stop() == 0)
    rover.receiver.hangUp()
  }

  @Test func `a caster with a wrong certificate is reported on the devices, and gets no request`() {
    let front = TLSFront(authority.certificate("caster", for: "DNS:elsewhere.example"), to: caster.port)
    let hub = rover.hub("caster: \"ntrips://localhost:\(front.port)/BASE\", caFile: \"\(authority.file)\"")
    let stream = rover.subscriber()
    #expect(
      eventually {
        rover.body("/devices").contains(
          "no corrections from ntrips://localhost:\(front.port)/BASE: the caster's certificate is not for localhost: ")
      }, "\(rover.body("/devices"))")
    #expect(caster.visits.values.isEmpty)
    stream.leave()
    #expect(hub.stop() == 0)
    rover.receiver.hangUp()
  }

  @Test func `a library for TLS that is installed later is used without a restart`() {
    let front = TLSFront(authority.certificate("caster", for: "DNS:localhost"), to: caster.port)
    let libraries = TemporaryFolder("libraries")
    // An empty file in place of the library, which the hub finds first.
    HubProcess.write("", to: "\(libraries.path)/libssl.so.3")
    func ntrip(_ mountPoint: String) -> String {
      "caster: \"ntrips://localhost:\(front.port)/\(mountPoint)\", caFile: \"\(authority.file)\""
    }
    let hub = rover.hub(ntrip("BASE"), environment: ["LD_LIBRARY_PATH=\(libraries.path)"])
    let stream = rover.subscriber()
    #expect(hub.logs("libssl, the library for TLS, is not installed"), "\(hub.program.standardError)")
    unlink("\(libraries.path)/libssl.so.3")
    // Another mount point is tried at once. The first one would be tried again later.
    HubProcess.write(rover.board(ntrip("OTHER")), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(
      hub.logs("gps: corrections come from ntrips://localhost:\(front.port)/OTHER"), "\(hub.program.standardError)")
    #expect(caster.visits.values.first?.path == "/OTHER")
    stream.leave()
    #expect(hub.stop() == 0)
    rover.receiver.hangUp()
  }
}
