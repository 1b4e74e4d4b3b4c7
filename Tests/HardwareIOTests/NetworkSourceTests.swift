import Glibc
import Testing

@testable import HardwareIO

@Suite struct NetworkSourceTests {
  @Test(arguments: [
    ("tcp://192.168.1.7:10110", NetworkSource.Kind.tcp, "192.168.1.7", UInt16(10110), String?.none),
    ("tcp://[2001:db8::1]:5000", .tcp, "2001:db8::1", 5000, nil),
    ("udp://:10110", .udp, "", 10110, nil),
    ("udp://239.2.1.1:10110", .udp, "239.2.1.1", 10110, nil),
    ("gpsd://phone.local", .gpsd, "phone.local", 2947, nil),
    ("gpsd://boat:2948/dev/ttyS0", .gpsd, "boat", 2948, "/dev/ttyS0"),
  ])
  func `an address contains kind, host, port and receiver`(
    _ text: String, _ kind: NetworkSource.Kind, _ host: String, _ port: UInt16, _ device: String?
  ) throws {
    let source = try #require(NetworkSource(text))
    #expect(source.kind == kind && source.host == host && source.port == port && source.device == device)
    #expect(NetworkSource("\(source)") == source)
  }

  @Test(arguments: [
    "/dev/ttyS0", "tcp://", "tcp://host", "tcp://host:0", "tcp://host:65536", "tcp://:10110", "tcp://host:1/x",
    "udp://10110",
    "udp://:0", "gpsd://", "gpsd://host/", "gpsd://host/a\"b", "gpsd://host/a b", "http://host:1", "tcp://ho st:1",
    "tcp://[1::2:5",
  ])
  func `any other text is not an address`(_ text: String) {
    #expect(NetworkSource(text) == nil)
  }

  @Test func `gpsd's reports are left out and sentences stay complete, however reads split them`() {
    let sent =
      "{\"class\":\"VERSION\"}\r\n$GPRMC,1*00\r\n{\"class\":\"WATCH\",\"x\":\"$GPGGA\"}\r\n$GPGGA,{2}*00\r\n{\"a\":1}\n"
    let bytes = Array(sent.utf8)
    for first in 0...bytes.count {
      for second in stride(from: first, through: bytes.count, by: 7) {
        var sentences = GPSDSentences()
        var kept: [UInt8] = []
        for part in [bytes[..<first], bytes[first..<second], bytes[second...]] {
          var buffer = Array(part)
          let count = buffer.withUnsafeMutableBytes { sentences.keepSentences(in: $0, count: part.count) }
          kept += buffer[..<count]
        }
        #expect(String(decoding: kept, as: UTF8.self) == "$GPRMC,1*00\r\n$GPGGA,{2}*00\r\n", "\(first) \(second)")
      }
    }
  }
}
