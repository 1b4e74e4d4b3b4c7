import Glibc
import TestSupport
import Testing

/// A browser that a page directs to a port of another protocol.
@Suite(.timeLimit(.minutes(10))) struct ForeignProtocolTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  /// The first lines of other methods and protocols are those of `HTTP is recognised by its first line`.
  @Test func `a browser that connects to a stream port is disconnected, and wakes no device`() {
    let requests = [
      "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 38\r\n\r\n?WATCH={\"enable\":true,\"json\":true}\r\n",
      "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n?WATCH={\"enable\":true,\"json\":true};",
    ].map { Array($0.utf8) }
    // An Allocate request of TURN over TCP (RFC 8656, section 7.1), as Chromium sends it first: for a relay of UDP.
    let allocate: [UInt8] =
      [0x00, 0x03, 0x00, 0x08, 0x21, 0x12, 0xA4, 0x42] + Array("Yk3bQzT8v0wP".utf8)
      + [0x00, 0x19, 0x00, 0x04, 0x11, 0x00, 0x00, 0x00]
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    #expect(hub.logs("NMEA 0183 on 127.0.0.1:\(nmea), "))
    // A browser sends its request at once, but on a busy machine the test may not. The hub is therefore stopped from
    // the connection until the request is sent. A client of the second port that sends nothing for a quarter of a
    // second counts as a plotter.
    #expect(hub.program.halt())
    var browsers: [WireClient] = []
    for words in requests + [allocate] {
      for port in [gpsd, nmea] {
        browsers.append(WireClient(port: port))
        browsers.last?.send(words)
      }
    }
    browsers.append(WireClient(port: nmea))
    browsers.last?.send("hello\r\n")
    hub.program.send(SIGCONT)
    for browser in browsers {
      // The wait is shorter than `StreamClient.silence`, after which a client without a request is disconnected.
      #expect(browser.waitsForEnd(), "\(browser.text)")
      // The gpsd port greets each client.
      #expect(!browser.text.contains("ERROR") && !browser.text.contains("$"))
    }
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 && $0.holders.isEmpty })
    // The request comes in two packets, cut at any point.
    for request in requests {
      let slow = WireClient(port: gpsd)
      slow.send(Array(request.prefix(2)))
      #expect(slow.receives("VERSION"))
      slow.send(Array(request.dropFirst(2)))
      #expect(slow.waitsForEnd())
    }
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    // The log has one line per port.
    for title in ["gpsd protocol", "NMEA 0183"] { #expect(hub.logs("\(title): 127.0.0.1:")) }
    let count = hub.program.standardError.split(separator: "\n").count { $0.contains("the client speaks HTTP") }
    #expect(count == 2, "\(hub.program.standardError)")
    // A plotter's own sentences are accepted.
    let plotter = WireClient(port: nmea)
    plotter.send("$GPRMB,A*00\r\n")
    #expect(plotter.receives("RMC"))
    #expect(hub.stop() == 0)
  }

  @Test func `a page that uses WebRTC wakes no device`() throws {
    let hub = HubProcess.simulated(gpsd: gpsd, nmea: nmea)
    #expect(hub.logs("NMEA 0183 on 127.0.0.1:\(nmea), "))
    let browser = try Browser()
    try browser.open("about:blank")
    for port in [gpsd, nmea] {
      try browser.run(
        """
        const server = { urls: 'turn:127.0.0.1:\(port)?transport=tcp', username: 'a', credential: 'b' };
        const connection = new RTCPeerConnection({ iceServers: [server], iceTransportPolicy: 'relay' });
        window.connections = (window.connections || []).concat([connection]);
        connection.createDataChannel('a');
        connection.createOffer().then((offer) => connection.setLocalDescription(offer));
        """)
    }
    for title in ["gpsd protocol", "NMEA 0183"] {
      #expect(
        hub.logs("\(title): 127.0.0.1:"), "\(hub.program.standardError)")
    }
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 && $0.holders.isEmpty })
    #expect(hub.stop() == 0)
  }
}
