import Glibc
import HardwareIO
import TestSupport
import Testing

/// Outputs at several addresses of the machine.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AddressTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private let web = SocketClient.freePort()

  @Test func `an output listens at each of its addresses, even if one of them cannot be opened`() {
    let list = "address: [\"127.0.0.1\", \"192.0.2.1\", \"127.0.0.9\", \"::1\"], allow: [\"192.0.2.0/24\"]"
    let ports = "gpsd: { port: \(gpsd), \(list) }, nmea: { port: \(nmea), \(list) }"
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "\(ports), http: { port: \(web), address: [\"127.0.0.1\", \"127.0.0.9\", \"::1\"] }"))
    let log = { hub.program.standardError }
    for (title, port) in [("gpsd protocol", gpsd), ("NMEA 0183", nmea)] {
      for address in ["127.0.0.1", "127.0.0.9", "[::1]"] {
        #expect(hub.logs("\(title) on \(address):\(port), open to this machine, 192.0.2.0/24\n"))
      }
      let refusal =
        "\(title) is not served yet: listening on 192.0.2.1:\(port): this machine does not have this address"
      #expect(hub.logs(refusal), "\(log())")
    }
    for address in ["127.0.0.1", "127.0.0.9", "[::1]"] {
      #expect(
        hub.logs("dashboard on http://\(address):\(web), open to this machine\n"), "\(log())")
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
    // One address is removed. Clients at the other addresses notice nothing.
    let client = WireClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true};")
    #expect(client.receives("\"mode\":3"))
    HubProcess.write(
      HubProcess.simulatedBoard("gpsd: { port: \(gpsd), address: [\"127.0.0.1\", \"127.0.0.8\"] }"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("gpsd protocol on 127.0.0.8:\(gpsd), open to this machine\n"), "\(log())")
    #expect(client.isOpen)
    #expect(hub.stop() == 0)
  }

  @Test func `a reload opens an address that was taken, without a gap for clients of the other addresses`() {
    let other = HubProcess(board: "{ name: \"other\", http: { port: \(web), address: \"127.0.0.9\" } }")
    #expect(other.logs("dashboard on"))
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("http: { port: \(web), address: [\"127.0.0.1\", \"127.0.0.9\"] }"))
    let log = { hub.program.standardError }
    #expect(hub.logs("another program listens on 127.0.0.9:\(web)"), "\(log())")
    #expect(hub.logs("dashboard on http://127.0.0.1:\(web)"), "\(log())")
    let client = SocketClient(port: web)
    client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(client.receives("\"mode\":\"fused\""))
    hub.program.send(SIGHUP)
    #expect(hub.logs { $0.occurrences(of: "another program listens on 127.0.0.9:\(web)") == 2 }, "\(log())")
    #expect(other.stop() == 0)
    hub.program.send(SIGHUP)
    #expect(hub.logs("dashboard on http://127.0.0.9:\(web)"), "\(log())")
    let count = client.lineCount
    #expect(client.receives(lineCount: count + 11))
    #expect(client.isOpen)
    #expect(hub.stop() == 0)
  }
}

/// Outputs at addresses and ports that are not there when the hub starts.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LaterAddressTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private let web = SocketClient.freePort()

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `an output is opened once the machine gets its address`() throws {
    // The test uses its own network, for which `unshare` needs root.
    try RootRights.require()
    let temporary = TemporaryFolder("addresses")
    let list = "address: [\"127.0.0.1\", \"10.98.97.96\"], allow: [\"10.98.97.0/24\"]"
    let board = temporary.path + "/board.json5"
    // The dashboard is served to other machines only with a token.
    let token = temporary.path + "/token"
    HubProcess.write("correct horse battery staple\n", to: token)
    HubProcess.write(
      HubProcess.simulatedBoard(
        "gpsd: { port: \(gpsd), address: \"10.98.97.96\", allow: [\"10.98.97.0/24\"] }, nmea: { port: \(nmea), \(list) }, "
          + "http: { port: \(web), \(list), tokenFile: \"\(token)\" }"), to: board)
    let run = "ip link set lo up; exec '\(Program.sensorhub)' run --board \(board) --socket \(temporary.path)/hub.sock"
    let hub = Program(
      ["--net", "/bin/sh", "-c", run], path: "/usr/bin/unshare",
      environment: ["STATE_DIRECTORY=\(temporary.path)/state"])
    let log = { hub.standardError }
    let titles = [
      ("gpsd protocol", "10.98.97.96:\(gpsd)"), ("NMEA 0183", "10.98.97.96:\(nmea)"),
      ("dashboard", "http://10.98.97.96:\(web)"),
    ]
    #expect(hub.logs("NMEA 0183 on 127.0.0.1") && hub.logs("dashboard on http://127.0.0.1"))
    for (title, _) in titles { #expect(hub.logs("\(title) is not served"), "\(log())") }
    let add = Program(
      ["-t", "\(hub.pid)", "-n", "ip", "address", "add", "10.98.97.96/32", "dev", "lo"], path: "/usr/bin/nsenter")
    #expect(add.wait() == 0, "\(add.standardError)")
    for (title, place) in titles { #expect(hub.logs("\(title) on \(place)"), "\(log())") }
    #expect(log().contains("trying again"))
    hub.send(SIGTERM)
    #expect(hub.wait() == 0)
  }

  @Test func `an output is opened once another program has released its port`() {
    let listeners = [gpsd, nmea, web].map { FullListener(port: $0) }
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "gpsd: { port: \(gpsd) }, nmea: { port: \(nmea) }, http: { port: \(web) }"))
    let log = { hub.program.standardError }
    for port in [gpsd, nmea, web] {
      #expect(hub.logs("another program listens on 127.0.0.1:\(port)"), "\(log())")
    }
    func threads() -> [String] {
      Files.names(in: "/proc/\(hub.program.pid)/task").compactMap { task in
        (try? Files.bytes(of: "/proc/\(hub.program.pid)/task/\(task)/comm")).map { String(decoding: $0, as: UTF8.self) }
      }
    }
    #expect(eventually { threads().contains("ports\n") })
    for listener in listeners { listener.end() }
    for title in ["gpsd protocol on 127", "NMEA 0183 on 127", "dashboard on http://127"] {
      #expect(hub.logs(title), "\(log())")
    }
    // The failure is reported once, however often the hub tries. An idle hub has no thread for it.
    #expect(log().occurrences(of: "another program listens on 127.0.0.1:\(gpsd)") == 1)
    #expect(eventually { !threads().contains("ports\n") }, "\(threads())")
    #expect(hub.stop() == 0)
  }
}

extension String {
  /// How often a text occurs in this one.
  fileprivate func occurrences(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}
