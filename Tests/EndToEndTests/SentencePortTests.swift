import Glibc
import TestSupport
import Testing

/// Several NMEA ports at the same time, each with its own choice of sentences.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SentencePortTests {
  private let ports = (0..<4).map { _ in SocketClient.freePort() }

  /// The kinds of sentences that have arrived completely: `RMC`, `GSV`.
  private func kinds(_ client: SocketClient) -> Set<Substring> {
    let whole = client.text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast()
    return Set(whole.map { $0.hasPrefix("$P") ? $0.dropFirst().prefix { $0 != "," } : $0.dropFirst(3).prefix(3) })
  }

  private func times(_ client: SocketClient) -> [Substring] {
    client.text.split(separator: "\r\n").filter { $0.hasPrefix("$GPRMC,") && $0.contains(",A,") }.map {
      $0.split(separator: ",")[1]
    }
  }

  @Test func `each port sends its own selection of sentences at its own rate`() {
    let board = HubProcess.simulatedBoard(
      """
      nmea: [
        { port: \(ports[0]), sentences: ["RMC", "GSV"] },
        { port: \(ports[1]), source: "fused", sentences: ["GGA", "GSA", "GSV", "PASHR"] },
        { port: \(ports[2]), source: "fused", rateHz: 20, sentences: ["RMC"] },
        { port: \(ports[3]), source: "fused", rateHz: 1, sentences: ["RMC", "HDT"] },
      ]
      """)
    let hub = HubProcess(board: board)
    let clients = ports.map { SocketClient(port: $0) }
    #expect(eventually { kinds(clients[0]) == ["RMC", "GSV"] && clients[0].text.contains("$GNRMC,") })
    #expect(eventually { kinds(clients[1]) == ["GGA", "GSA", "GSV", "PASHR"] }, "\(clients[1].text)")
    #expect(eventually { kinds(clients[3]) == ["RMC", "HDT"] }, "\(clients[3].text)")
    // The receiver has five epochs a second.
    for client in clients { client.forget() }
    // There are twenty times as many sentences, and not five times. The first read has fewer.
    let isQuicker = eventually {
      let quick = times(clients[2]).count
      let slow = times(clients[3]).count
      return slow >= 4 && quick > 7 * slow
    }
    #expect(isQuicker, "\(times(clients[2]).count) \(times(clients[3]).count)")
    let quick = times(clients[2])
    #expect(Set(quick).count == quick.count)
    #expect(kinds(clients[2]) == ["RMC"])
    #expect(hub.devicesNow["gps"].holders.count == 4)
    for client in clients { client.leave() }
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a reload adds, changes and removes ports, and leaves the others alone`() {
    func board(_ entries: String...) -> String {
      HubProcess.simulatedBoard("nmea: [\(entries.joined(separator: ", "))]")
    }
    let stays = "{ port: \(ports[0]), source: \"fused\", sentences: [\"RMC\"] }"
    let hub = HubProcess(
      board: board(
        stays, "{ port: \(ports[1]), sentences: [\"GGA\"] }",
        "{ port: \(ports[2]), source: \"fused\", sentences: [\"HDT\"] }"))
    let clients = ports.prefix(3).map { SocketClient(port: $0) }
    #expect(eventually { kinds(clients[0]) == ["RMC"] && kinds(clients[1]) == ["GGA"] && kinds(clients[2]) == ["HDT"] })
    // The second port sends other sentences now, and the third is at another number.
    let next = board(
      stays, "{ port: \(ports[1]), sentences: [\"GSV\"] }",
      "{ port: \(ports[3]), source: \"fused\", sentences: [\"HDT\"] }")
    HubProcess.write(next, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("NMEA 0183 on 127.0.0.1:\(ports[3])"))
    #expect(eventually { !clients[1].isOpen })
    #expect(eventually { !SocketClient.isListening(ports[2]) })
    for client in clients { client.forget() }
    let changed = SocketClient(port: ports[1])
    let moved = SocketClient(port: ports[3])
    #expect(eventually { kinds(changed) == ["GSV"] && kinds(moved) == ["HDT"] })
    #expect(eventually { kinds(clients[0]) == ["RMC"] && kinds(clients[2]) == ["HDT"] })
    HubProcess.write(board(stays), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { !changed.isOpen && !moved.isOpen && !clients[2].isOpen })
    clients[0].forget()
    #expect(eventually { kinds(clients[0]) == ["RMC"] && clients[0].isOpen })
    #expect(eventually { hub.devicesNow["gps"].holders.count == 1 })
    clients[0].leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `clients of one port do not use up the places of another port`() {
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "nmea: [{ port: \(ports[0]), clients: 1, sentences: [\"RMC\"] }, { port: \(ports[1]), clients: 1 }]"))
    let first = SocketClient(port: ports[0])
    #expect(eventually { kinds(first).contains("RMC") })
    let refused = SocketClient(port: ports[0])
    #expect(eventually { !refused.isOpen })
    let other = SocketClient(port: ports[1])
    #expect(eventually { kinds(other).contains("GGA") && first.isOpen })
    first.leave()
    other.leave()
    #expect(hub.stop() == 0)
  }
}
