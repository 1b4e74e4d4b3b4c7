import Hub
import TestSupport
import Testing

@testable import Outputs

/// Receivers on the network: the ports and the datagrams of another hub.
@Suite(.timeLimit(.minutes(10))) struct NetworkReceiverTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  private func source() throws -> ServedHub {
    try ServedHub(board: HubProcess.simulatedBoard(gpsd: gpsd, nmea: nmea))
  }

  private func reader(of port: String) throws -> ServedHub {
    try ServedHub(board: "{ name: \"reader\", devices: { remote: { driver: \"nmea\", port: \"\(port)\" } } }")
  }

  /// A client of the reader's states.
  private func viewer(_ hub: ServedHub) -> WireClient { WireClient(path: hub.path.state) }

  /// Blocks until a state has a position of the remote receiver.
  private func hasFix(_ viewer: WireClient) -> Bool {
    viewer.reads {
      viewer.lines.contains { $0.contains("\"mode\":\"gnss\"") && $0.contains("\"source\":\"remote\"") }
    }
  }

  @Test(arguments: ["gpsd", "tcp"])
  func `a hub reads another hub while a client needs it, and then lets its receiver sleep`(_ kind: String) async throws
  {
    let source = try source()
    let hub = try reader(of: kind == "gpsd" ? "gpsd://localhost:\(gpsd)" : "tcp://localhost:\(nmea)")
    #expect(source.hasWokenNothing)
    for visit in 1...2 {
      let viewer = viewer(hub)
      #expect(hasFix(viewer), "\(hub.log.values)")
      #expect(try source.device("gps").wakes == visit)
      // The reports of gpsd do not count as garbage on the line.
      let counters = try hub.device("remote").counters
      func count(_ name: String) -> Int { counters.first { $0.name == name }?.value ?? 0 }
      #expect(count("badChecksum") == 0 && count("sentences") > 0, "\(counters)")
      viewer.leave()
      #expect(hub.comesToRest() && source.comesToRest())
    }
    await hub.end()
    await source.end()
  }

  @Test func `a hub reads the datagrams of another hub`() async throws {
    let source = try ServedHub("nmea: { udp: \"127.0.0.1:\(nmea)\", source: \"receiver\", keepsAwake: true }")
    let hub = try reader(of: "udp://:\(nmea)")
    let viewer = viewer(hub)
    #expect(hasFix(viewer), "\(hub.log.values)")
    viewer.leave()
    await hub.end()
    await source.end()
  }

  @Test func `a missing network source is reported, tried again, and read once it is there`() async throws {
    let hub = try reader(of: "tcp://127.0.0.1:\(nmea)")
    let viewer = viewer(hub)
    let isReported = hub.hub.monitors[0].changes.waits {
      $0.reason.contains("connecting to tcp://127.0.0.1:\(nmea): Connection refused")
    }
    #expect(isReported)
    let source = try source()
    #expect(hasFix(viewer), "\(hub.log.values)")
    await source.end()
    #expect(hub.shows("remote", .failed))
    viewer.leave()
    await hub.end()
  }
}
