import Glibc
import TestSupport
import Testing

/// Outputs at several addresses of the machine's.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AddressTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private let web = SocketClient.freePort()

  @Test func `an output listens at each of its addresses, and one that cannot be opened takes none of the others`() {
    let list = "address: [\"127.0.0.1\", \"192.0.2.1\", \"127.0.0.9\", \"::1\"], allow: [\"192.0.2.0/24\"]"
    let ports = "gpsd: { port: \(gpsd), \(list) }, nmea: { port: \(nmea), \(list) }"
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "\(ports), http: { port: \(web), address: [\"127.0.0.1\", \"127.0.0.9\", \"::1\"] }"))
    let log = { hub.program.standardError }
    for (title, port) in [("gpsd protocol", gpsd), ("NMEA 0183", nmea)] {
      for address in ["127.0.0.1", "127.0.0.9", "[::1]"] {
        #expect(eventually { log().contains("\(title) on \(address):\(port), open to this machine, 192.0.2.0/24\n") })
      }
      let obstacle = "\(title) is not served: listening on 192.0.2.1:\(port): Cannot assign requested address\n"
      #expect(eventually { log().contains(obstacle) }, "\(log())")
    }
    for address in ["127.0.0.1", "127.0.0.9", "[::1]"] {
      #expect(
        eventually { log().contains("dashboard on http://\(address):\(web), open to this machine\n") }, "\(log())")
      let curl = Program(["-s", "-g", "http://\(address):\(web)/healthz"], path: "/usr/bin/curl")
      #expect(curl.wait() == 0 && curl.standardOutput == "ok\n")
    }
    let check = Program(["check", hub.boardFile])
    #expect(check.wait() == 0)
    #expect(
      check.standardOutput.contains(
        "gpsd protocol on 127.0.0.1:\(gpsd), 192.0.2.1:\(gpsd), 127.0.0.9:\(gpsd), [::1]:\(gpsd), open to"))
    #expect(
      check.standardOutput.contains("http://127.0.0.1:\(web), http://127.0.0.9:\(web), http://[::1]:\(web), open"))
    let policy = Program(["check", "--device-policy", hub.boardFile])
    policy.wait()
    #expect(policy.standardOutput.contains("IPAddressAllow=192.0.2.0/24"))
    // One address less: who is at the others notices nothing.
    let client = Peer(gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true};")
    #expect(eventually { client.text.contains("\"mode\":3") })
    HubProcess.write(
      HubProcess.simulatedBoard("gpsd: { port: \(gpsd), address: [\"127.0.0.1\", \"127.0.0.8\"] }"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { log().contains("gpsd protocol on 127.0.0.8:\(gpsd), open to this machine\n") }, "\(log())")
    #expect(client.isOpen)
    #expect(hub.stop() == 0)
  }

  @Test func `a reload opens an address that was taken, and whoever is at another notices nothing`() {
    let other = HubProcess(board: "{ name: \"other\", http: { port: \(web), address: \"127.0.0.9\" } }")
    #expect(eventually { other.program.standardError.contains("dashboard on") })
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("http: { port: \(web), address: [\"127.0.0.1\", \"127.0.0.9\"] }"))
    let log = { hub.program.standardError }
    #expect(eventually { log().contains("another program listens on 127.0.0.9:\(web)") }, "\(log())")
    #expect(eventually { log().contains("dashboard on http://127.0.0.1:\(web)") }, "\(log())")
    let client = SocketClient(port: web)
    client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(eventually { client.text.contains("\"mode\":\"fused\"") })
    hub.program.send(SIGHUP)
    #expect(eventually { log().occurrences(of: "another program listens on 127.0.0.9:\(web)") == 2 }, "\(log())")
    #expect(other.stop() == 0)
    hub.program.send(SIGHUP)
    #expect(eventually { log().contains("dashboard on http://127.0.0.9:\(web)") }, "\(log())")
    let count = client.lineCount
    #expect(eventually { client.lineCount > count + 10 })
    #expect(client.isOpen)
    #expect(hub.stop() == 0)
  }
}

extension String {
  /// How often a text is in this one.
  fileprivate func occurrences(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}
