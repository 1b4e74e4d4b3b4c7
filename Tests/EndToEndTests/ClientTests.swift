import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Programs from Debian that were not made for SensorHub.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ClientTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private let hub: HubProcess

  init() {
    hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    #expect(hub.devicesNow.devices.allSatisfy { $0.power == "off" && $0.wakes == 0 })
  }

  /// A program that ends by itself once it has enough, or else is ended once it has written a position.
  enum Client: String, CaseIterable {
    case gpspipeJSON, gpspipeSentences, gpxlogger, pythonModule

    func command(_ port: UInt16) -> (path: String, arguments: [String]) {
      switch self {
      case .gpspipeJSON: ("/usr/bin/gpspipe", ["-w", "-n", "100", "127.0.0.1:\(port)"])
      case .gpspipeSentences: ("/usr/bin/gpspipe", ["-r", "-n", "100", "127.0.0.1:\(port)"])
      case .gpxlogger: ("/usr/bin/gpxlogger", ["127.0.0.1:\(port)"])
      case .pythonModule:
        (
          "/usr/bin/python3",
          [
            "-c",
            """
            import gps
            session = gps.gps(host="127.0.0.1", port="\(port)", mode=gps.WATCH_ENABLE | gps.WATCH_JSON)
            for report in session:
              if report["class"] == "TPV" and report["mode"] == 3:
                print(f"mode 3 at {session.fix.latitude:.3f} {session.fix.longitude:.3f}")
                break
            """,
          ]
        )
      }
    }

    /// The expected output of the program.
    var expected: [String] {
      switch self {
      case .gpspipeJSON: ["\"class\":\"VERSION\"", "\"class\":\"DEVICES\"", "\"class\":\"WATCH\"", "\"class\":\"ATT\""]
      case .gpspipeSentences: ["$GNRMC,", "$GNGGA,", "$GPGSV,"]
      case .gpxlogger: ["<trkpt lat=\"52.51", "<ele>", "</gpx>"]
      case .pythonModule: ["mode 3 at 52.51"]
      }
    }
  }

  @Test(arguments: Client.allCases)
  func `an unmodified client gets what it requests, wakes the receiver and lets it sleep`(
    _ client: Client
  ) {
    let (path, arguments) = client.command(gpsd)
    let program = Program(arguments, path: path)
    // A program that has enough data at once may end before the first look.
    #expect(eventually { hub.devicesNow["gps"].wakes == 1 && (isHeld(by: "gpsd") || !program.isRunning) })
    if client == .gpxlogger {
      #expect(program.prints("</trkpt>"), "\(program.standardOutput)")
      program.send(SIGTERM)
    }
    program.wait()
    for text in client.expected {
      #expect(program.standardOutput.contains(text), "\(program.standardOutput.prefix(3000)) \(program.standardError)")
    }
    #expect(hub.comesToRest())
    #expect(eventually { hub.openDevices.isEmpty }, "\(hub.openDevices)")
    #expect(hub.devicesNow["gps"].wakes == 1)
    #expect(hub.stop() == 0)
  }

  /// The receiver is awake for clients of this protocol alone.
  private func isHeld(by name: String) -> Bool {
    let holders = hub.devicesNow["gps"].holders
    return !holders.isEmpty && holders.allSatisfy { $0.hasPrefix("\(name) 127.0.0.1:") }
  }

  /// A program for people, in a terminal.
  @Test(arguments: [("cgps", ["3D SIM FIX", "Latitude", "52.51"]), ("gpsmon", ["simulated/gps", "GNGGA"])])
  func `a client on a terminal shows the simulated receiver`(_ program: String, _ expected: [String]) {
    let terminal = TerminalSession("/usr/bin/\(program) 127.0.0.1:\(gpsd)")
    let isComplete = terminal.shows { rows in
      expected.allSatisfy { text in rows.contains { $0.contains(text) } }
    }
    #expect(isComplete, "\(terminal.screen) \(hub.program.standardError)")
    #expect(hub.shows("gps", "tracking"))
    terminal.close()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `gpsd reads the NMEA port as a receiver and reports positions`() {
    readWithGPSD("tcp://127.0.0.1:\(nmea)") { $0.contains("\"class\":\"TPV\"") && $0.contains("\"mode\":3") }
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test(arguments: ["tcp", "udp"])
  func `gpsd finds positions, errors and satellites in the fused sentences`(_ transport: String) {
    let board =
      transport == "tcp"
      ? HubProcess.simulatedBoard(gpsd: gpsd, nmea: nmea, fused: true)
      : HubProcess.simulatedBoard("nmea: { udp: \"127.0.0.1:\(nmea)\", source: \"fused\", keepsAwake: true }")
    HubProcess.write(board, to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("reloaded"))
    readWithGPSD("\(transport)://127.0.0.1:\(nmea)") {
      $0.contains("\"class\":\"SKY\"") && $0.contains("\"nSat\":8,\"uSat\":8")
        && $0.contains("{\"PRN\":2,\"el\":62.0,\"az\":105.0,\"ss\":45.0,\"used\":true,\"gnssid\":0,\"svid\":2")
    } _: {
      $0.contains("\"class\":\"GST\"") && $0.contains("\"lat\":") && $0.contains("\"alt\":")
    } _: {
      $0.contains("\"class\":\"TPV\"") && $0.contains("\"mode\":3") && $0.contains("\"lat\":52.51")
    }
    #expect(hub.stop() == 0)
  }

  /// Runs Debian's gpsd with the hub as its receiver; returns whether its clients get a line of each kind.
  private func readWithGPSD(_ source: String, _ expected: (String) -> Bool...) {
    let port = SocketClient.freePort()
    let daemon = Program(["-N", "-n", "-S", "\(port)", source], path: "/usr/sbin/gpsd")
    var clients: [Program] = []
    let hasAll = eventually {
      // gpsd may not listen yet: the client then ends at once.
      if clients.last?.isRunning != true {
        clients.append(Program(["-w", "-n", "60", "127.0.0.1:\(port)"], path: "/usr/bin/gpspipe"))
      }
      return expected.allSatisfy { isExpected in clients.contains { $0.lines.contains { isExpected(String($0)) } } }
    }
    #expect(hasAll, "\(clients.last?.standardOutput.suffix(2000) ?? "") \(daemon.standardError)")
    #expect(isHeld(by: source.hasPrefix("udp") ? "nmea udp" : "nmea"))
    for client in clients { client.send(SIGTERM) }
    daemon.send(SIGTERM)
    daemon.wait()
  }
}
