import Glibc
import NMEA
import TestSupport
import Testing

/// The examples of the library's pages (`Examples`) behave as the pages describe.
struct ExampleTests {
  /// Three epochs of a receiver, a second apart, each with RMC and GGA.
  private let log = (0..<3).map { second in
    nmeaLine("GPRMC,12000\(second).00,A,5230.0000,N,01315.0000,E,0.0,0.0,231126,,,A")
      + nmeaLine("GPGGA,12000\(second).00,5230.0000,N,01315.0000,E,1,08,1.0,34.0,M,45.0,M,,")
  }

  @Test func `the positions of a log are those of its epochs, and noise between them is left out`() {
    let text = log.joined(separator: "noise\r\n$GPGGA,bad*00\r\n")
    let found = positions(in: Array(text.utf8))
    #expect(found == [Coordinate](repeating: Coordinate(latitudeDegrees: 52.5, longitudeDegrees: 13.25), count: 3))
  }

  @Test func `a live receiver's epochs arrive, the last one when its line ends`() {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let text = Array(log.joined().utf8)
    #expect(Glibc.write(ends[1], text, text.count) == text.count)
    close(ends[1])
    var summaries: [Summary] = []
    readReceiver(ends[0]) { summaries.append($0) }
    close(ends[0])
    #expect(summaries.map(\.position?.latitudeDegrees) == [52.5, 52.5, 52.5])
    #expect(summaries.allSatisfy { $0.mode >= .twoDimensional && $0.satellites.isEmpty })
  }

  @Test func `a sentence for a plotter has the position that the library decodes`() {
    let position = Coordinate(latitudeDegrees: -33.85, longitudeDegrees: 151.2)
    let line = sentence(for: position, at: UTCTime(nanosecondsSince1970: 1_795_000_000_000_000_000))
    #expect(line.hasPrefix("$GPGLL,3351.0000000,S,15112.0000000,E,"))
    #expect(line.hasSuffix("\r\n"))
    #expect(line == nmeaLine(String(line.dropFirst().prefix { $0 != "*" })))
  }

  @Test func `the documentation shows the examples as they are compiled`() {
    let pages = LibraryPages(of: "NMEA")
    #expect(pages.shown == pages.compiled)
    #expect(pages.shown.count == 3)
  }
}
