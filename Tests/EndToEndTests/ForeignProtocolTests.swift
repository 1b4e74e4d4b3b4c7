import Glibc
import TestSupport
import Testing

/// A browser that a page sends to a port of another protocol.
@Suite(.timeLimit(.minutes(10))) struct ForeignProtocolTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  @Test(arguments: [
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 38\r\n\r\n?WATCH={\"enable\":true,\"json\":true}\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "OPTIONS / HTTP/1.1\r\n", "HEAD / HTTP/1.1\r\n", "PUT / HTTP/1.1\r\n",
    "CONNECT a:1 HTTP/1.1\r\n", "TRACE / HTTP/1.1\r\n", "DELETE / HTTP/1.1\r\n", "PATCH / HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n?WATCH={\"enable\":true,\"json\":true};",
  ])
  func `a browser is sent away from the stream ports, and wakes nothing`(_ request: String) {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    #expect(eventually { hub.program.standardError.contains("NMEA 0183 on 127.0.0.1:\(nmea), ") })
    for port in [gpsd, nmea] {
      // A browser speaks at once, which a test on a busy machine does not always: so the hub stands still between its connection and
      // its words. Who has said nothing at the second port after a quarter of a second is a plotter.
      #expect(hub.program.halt())
      let browser = Peer(port)
      browser.send(request)
      hub.program.send(SIGCONT)
      // Long before those go who ask for nothing.
      #expect(eventually { !browser.isOpen }, "\(browser.text)")
      #expect(!browser.text.contains("ERROR"))
    }
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 && $0.holders.isEmpty })
    // In two packets, however the first is cut.
    let slow = Peer(gpsd)
    slow.send(String(request.prefix(2)))
    #expect(eventually { slow.text.contains("VERSION") })
    slow.send(String(request.dropFirst(2)))
    #expect(eventually { !slow.isOpen })
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    // Once for each port; the log is written a moment later.
    let areNamed = eventually {
      hub.program.standardError.split(separator: "\n").count { $0.contains("it speaks HTTP") } == 2
    }
    #expect(areNamed, "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
  }
}
