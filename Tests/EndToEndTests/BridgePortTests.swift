import Glibc
import TestSupport
import Testing

/// The raw bridge, with a client that uses pyubx2 as PyGPSClient does.
@Suite(.timeLimit(.minutes(5))) struct BridgePortTests {
  private let port = SocketClient.freePort()

  private func hub() -> HubProcess {
    HubProcess(
      board: """
        { name: "test",
          devices: { gps: { driver: "ublox", port: "simulated/ublox-8",
            power: { switch: "gpio", chip: "simulated", line: "ublox-8-power", lingerSeconds: 0.2 } } },
          bridge: { port: \(port) } }
        """)
  }

  /// Asks for the version, and prints the identities of the answers.
  private static let script = """
    import socket, sys
    from pyubx2 import UBXMessage, UBXReader, POLL
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) as line:
        line.sendall(UBXMessage("MON", "MON-VER", POLL).serialize())
        for raw, parsed in UBXReader(line, protfilter=7):
            if parsed.identity == "MON-VER":
                print(parsed.identity, flush=True)
                break
    """

  @Test func `a client of pyubx2 asks a sleeping receiver for its version, and the hub says so`() {
    let hub = hub()
    #expect(hub.logs("raw bridge on 127.0.0.1:\(port), open to this machine: clients may write to gps (SIMULATED)"))
    let client = Python.program(["-c", Self.script, "\(port)"])
    #expect(client.prints("MON-VER"))
    #expect(hub.logs("writes to gps through the bridge; the hub sends it nothing in the meantime"))
    #expect(hub.logs("gps: resolved: 127.0.0.1:"))
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1)
    #expect(hub.stop() == 0)
  }

  @Test func `several clients read, one writes, and a web page reaches nothing`() {
    let hub = hub()
    // The hub is stopped between the connection and the bytes, as in `ForeignProtocolTests`.
    #expect(hub.logs("raw bridge on 127.0.0.1:\(port), ") && hub.program.halt())
    let browser = WireClient(port: port)
    browser.send("POST / HTTP/1.1\r\n\r\n$PUBX,40,GLL,0,0,0,0*5C\r\n")
    hub.program.send(SIGCONT)
    #expect(browser.waitsForEnd(), "\(browser.text)")
    #expect(hub.devicesNow["gps"].wakes == 0)

    let (reader, writer) = (SocketClient(port: port), SocketClient(port: port))
    #expect(reader.receives("$G") && writer.receives("$G"))
    #expect(hub.devicesNow["gps"].holders.count { $0.hasPrefix("bridge 127.0.0.1:") } == 2)
    writer.send("$PUBX,00*33\r\n")
    #expect(eventually { hub.devicesNow["gps"].holders.contains { $0.hasPrefix("bridge writer 127.0.0.1:") } })
    let other = SocketClient(port: port)
    other.send("$PUBX,00*33\r\n")
    #expect(other.waitsForEnd())
    #expect(hub.logs("writes to gps, and only one client may write"))
    #expect(reader.isOpen && writer.isOpen)
    for client in [reader, writer] { client.leave() }
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }
}
