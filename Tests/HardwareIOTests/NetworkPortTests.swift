import CLinux
import Glibc
import TestSupport
import Testing

@testable import HardwareIO

@Suite struct NetworkPortTests {
  /// Reads the next bytes, or throws the port's error.
  private func read(_ port: NetworkPort) throws -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      var wait = pollfd(fd: port.fileDescriptor, events: Int16(POLLIN), revents: 0)
      try #require(poll(&wait, 1, 60_000) == 1)
      let count = try buffer.withUnsafeMutableBytes { try port.read(into: $0) }
      if count > 0 { return String(decoding: buffer[..<count], as: UTF8.self) }
    }
  }

  @Test func `if nothing listens at a host's first address, the next one is used`() throws {
    // On most machines this name stands for ::1 and 127.0.0.1. The server listens only at the latter.
    let server = ScriptedServer { $0.send("$GPRMC\r\n") }
    let name = "tcp://localhost:\(server.port)"
    let port = try NetworkPort(try #require(NetworkSource(name)))
    #expect(try read(port) == "$GPRMC\r\n")
    try port.write(Array("$PMTK\r\n".utf8))
    let client = try #require(server.clients.values.first)
    #expect(client.receives("$PMTK\r\n") && client.text == "$PMTK\r\n")
    server.end()
    let gone = HardwareError.disconnected(name)
    #expect(throws: gone) { try read(port) }
    #expect(gone.nextStep == "check that the program there runs, and that it admits this machine")
    #expect(HardwareError.disconnected("serial port /dev/ttyUSB0").nextStep == "check the cable")
  }

  @Test func `a refused connection is reported with its address`() throws {
    let number = SocketClient.freePort()
    let port = try NetworkPort(try #require(NetworkSource("tcp://127.0.0.1:\(number)")))
    #expect(throws: HardwareError.system("connecting to tcp://127.0.0.1:\(number)", errno: ECONNREFUSED)) {
      try read(port)
    }
  }

  @Test func `an unknown host is reported`() throws {
    let source = try #require(NetworkSource("tcp://no-such-host.invalid:1"))
    let error = #expect(throws: HardwareError.self) { try NetworkPort(source) }
    #expect("\(try #require(error))".contains("there is no address for 'no-such-host.invalid'"))
  }

  @Test func `each datagram ends a line, and nothing can be sent to its source`() throws {
    let number = SocketClient.freePort()
    let port = try NetworkPort(try #require(NetworkSource("udp://127.0.0.1:\(number)")))
    let sender = DatagramSocket(port: SocketClient.freePort())
    sender.send("$GPGGA,1", to: number)
    sender.send("$GPRMC,2\r\n", to: number)
    #expect(try read(port) == "$GPGGA,1\n")
    #expect(try read(port) == "$GPRMC,2\r\n")
    #expect(throws: HardwareError.unsupported("nothing can be sent to udp://127.0.0.1:\(number)")) {
      try port.write([1])
    }
  }

  @Test func `gpsd is asked for sentences after its greeting, and its reports are left out`() throws {
    let greeting = "{\"class\":\"VERSION\"}\r\n"
    let server = ScriptedServer { $0.send(greeting + "$GPRMC\r\n") }
    let port = try NetworkPort(try #require(NetworkSource("gpsd://127.0.0.1:\(server.port)/dev/ttyS0")))
    #expect(try read(port) == "$GPRMC\r\n")
    #expect(port.leftOutCount == greeting.utf8.count)
    let request = "?WATCH={\"enable\":true,\"nmea\":true,\"device\":\"/dev/ttyS0\"};\n"
    let client = try #require(server.clients.values.first)
    #expect(client.receives(request) && client.text == request)
  }
}
