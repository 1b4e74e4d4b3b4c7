import Hub
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Several NMEA ports at the same time, each with its own choice of sentences.
@Suite(.timeLimit(.minutes(10))) struct SentencePortTests {
  private let ports = (0..<4).map { _ in SocketClient.freePort() }

  /// The kinds of sentences that have arrived completely: `RMC`, `GSV`.
  private func kinds(_ client: WireClient) -> Set<Substring> {
    Set(client.lines.map { $0.hasPrefix("$P") ? $0.dropFirst().prefix { $0 != "," } : $0.dropFirst(3).prefix(3) })
  }

  /// Reads until a client has had exactly these kinds of sentences.
  private func gets(_ kinds: Set<Substring>, _ client: WireClient) -> Bool {
    client.reads { self.kinds(client) == kinds }
  }

  private func times(_ client: WireClient) -> [Substring] {
    client.lines.filter { $0.hasPrefix("$GPRMC,") && $0.contains(",A,") }.map { $0.split(separator: ",")[1] }
  }

  @Test func `each port sends its own selection of sentences at its own rate`() async throws {
    let hub = try ServedHub(
      """
      nmea: [
        { port: \(ports[0]), sentences: ["RMC", "GSV"] },
        { port: \(ports[1]), source: "fused", sentences: ["GGA", "GSA", "GSV", "PASHR"] },
        { port: \(ports[2]), source: "fused", rateHz: 20, sentences: ["RMC"] },
        { port: \(ports[3]), source: "fused", rateHz: 1, sentences: ["RMC", "HDT"] },
      ]
      """)
    let clients = ports.map { WireClient(port: $0) }
    #expect(gets(["RMC", "GSV"], clients[0]) && clients[0].receives("$GNRMC,"))
    #expect(gets(["GGA", "GSA", "GSV", "PASHR"], clients[1]), "\(clients[1].text)")
    #expect(gets(["RMC", "HDT"], clients[3]), "\(clients[3].text)")
    // The receiver has five epochs a second.
    for client in clients { client.forget() }
    // There are twenty times as many sentences, and not five times. The first read has fewer.
    let isQuicker = clients[3].reads {
      clients[2].takeArrived()
      let (quick, slow) = (times(clients[2]).count, times(clients[3]).count)
      return slow >= 4 && quick > 7 * slow
    }
    #expect(isQuicker, "\(times(clients[2]).count) \(times(clients[3]).count)")
    let quick = times(clients[2])
    #expect(Set(quick).count == quick.count)
    #expect(kinds(clients[2]) == ["RMC"])
    #expect(try hub.device("gps").holders.count == 4)
    for client in clients { client.leave() }
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a reload adds, changes and removes ports, and leaves the others alone`() async throws {
    func board(_ entries: String...) -> String {
      HubProcess.simulatedBoard("nmea: [\(entries.joined(separator: ", "))]")
    }
    let stays = "{ port: \(ports[0]), source: \"fused\", sentences: [\"RMC\"] }"
    let hub = try ServedHub(
      board: board(
        stays, "{ port: \(ports[1]), sentences: [\"GGA\"] }",
        "{ port: \(ports[2]), source: \"fused\", sentences: [\"HDT\"] }"))
    let clients = ports.prefix(3).map { WireClient(port: $0) }
    #expect(gets(["RMC"], clients[0]) && gets(["GGA"], clients[1]) && gets(["HDT"], clients[2]))
    // The second port sends other sentences now, and the third is at another number.
    try await hub.reload(
      board(
        stays, "{ port: \(ports[1]), sentences: [\"GSV\"] }",
        "{ port: \(ports[3]), source: \"fused\", sentences: [\"HDT\"] }"))
    #expect(hub.logs("NMEA 0183 on 127.0.0.1:\(ports[3])"))
    #expect(clients[1].waitsForEnd())
    #expect(!SocketClient.isListening(ports[2]))
    for client in clients { client.forget() }
    let (changed, moved) = (WireClient(port: ports[1]), WireClient(port: ports[3]))
    #expect(gets(["GSV"], changed) && gets(["HDT"], moved))
    for (client, kind) in [(clients[0], "RMC,"), (clients[2], "HDT,")] {
      client.forget()
      #expect(client.reads { client.lines.count > 3 })
      // A forgotten part of a line may be left at the beginning.
      #expect(client.lines.dropFirst().allSatisfy { $0.contains(kind) }, "\(client.text)")
    }
    try await hub.reload(board(stays))
    #expect(changed.waitsForEnd() && moved.waitsForEnd() && clients[2].waitsForEnd())
    clients[0].forget()
    #expect(clients[0].receives("RMC,") && clients[0].isOpen)
    #expect(try hub.device("gps").holders.count == 1)
    clients[0].leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `clients of one port do not use up the places of another port`() async throws {
    let hub = try ServedHub(
      "nmea: [{ port: \(ports[0]), clients: 1, sentences: [\"RMC\"] }, { port: \(ports[1]), clients: 1 }]")
    let first = WireClient(port: ports[0])
    #expect(first.receives("RMC,"))
    let refused = WireClient(port: ports[0])
    #expect(refused.waitsForEnd())
    let other = WireClient(port: ports[1])
    #expect(other.receives("GGA,") && first.isOpen)
    await hub.end()
  }

  @Test func `during the receiver's start both sources report no fix, and fused sentences follow`() async throws {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .seconds(2)
    let hub = try ServedHub(
      "nmea: [{ port: \(ports[0]), source: \"fused\" }, { port: \(ports[1]) }]",
      on: SimulatedHardware(receiver: receiver))
    let (fused, plotter) = (WireClient(port: ports[0]), WireClient(port: ports[1]))
    for client in [fused, plotter] {
      #expect(client.reads { client.lines.contains { $0.contains("RMC,") } })
      let first = client.lines.first { $0.contains("RMC,") } ?? ""
      #expect(first.split(separator: ",", omittingEmptySubsequences: false)[2] == "V", "\(first)")
    }
    #expect(fused.receives("$GPRMC,,V,,,,,,,,,,N*53\r\n"), "\(fused.text)")
    for sentence in [
      "$GPRMC,", "$GPGGA,", "$GPVTG,", "$GPGST,", "$GNGSA,", "$GPGSV,", "$HEHDT,", "$TIROT,", "$YXXDR,", "$PASHR,",
    ] {
      #expect(fused.receives(sentence), "no \(sentence)")
    }
    fused.leave()
    plotter.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }
}
