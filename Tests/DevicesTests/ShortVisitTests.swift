import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Devices

/// A receiver that is awake only for two fixes at a time is still checked for faults.
struct ShortVisitTests {
  /// A port that reports 20 knots once a second, or six satellites without a position.
  private final class Port: SerialPort {
    let name = "short"
    // The descriptor is always readable.
    let fileDescriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    private let clock: ManualClock
    private let seconds = Guarded(0)
    private let moves = Guarded(false)
    private let searches: Bool

    init(_ clock: ManualClock, searches: Bool = false) {
      self.clock = clock
      self.searches = searches
    }

    deinit { Glibc.close(fileDescriptor) }

    func setOff() { moves.withLock { $0 = true } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      clock.advance(by: .seconds(1))
      let second = seconds.withLock { seconds in
        seconds += 1
        return seconds
      }
      func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
      let time = "12\(two(second / 60))\(two(second % 60)).00"
      if searches {
        let satellites = (1...6).map { "0\($0),45,090,40" }
        let bytes = Array(
          (nmeaLine("GPRMC,\(time),V,,,,,,,231126,,,N") + nmeaLine("GPGGA,\(time),,,,,0,00,99.9,,M,,M,,")
            + nmeaLine("GPGSV,2,1,06,\(satellites[..<4].joined(separator: ","))")
            + nmeaLine("GPGSV,2,2,06,\(satellites[4...].joined(separator: ","))")).utf8)
        buffer.copyBytes(from: bytes)
        return bytes.count
      }
      let longitude = moves.withLock { $0 } ? "01322.\(1000 + second)" : "01322.0000"
      let bytes = Array(
        (nmeaLine("GPRMC,\(time),A,5231.0000,N,\(longitude),E,20.0,90.0,231126,,,A")
          + nmeaLine("GPGGA,\(time),5231.0000,N,\(longitude),E,1,09,0.9,40.0,M,42.0,M,,")).utf8)
      buffer.copyBytes(from: bytes)
      return bytes.count
    }

    func write(_ bytes: [UInt8]) {}
    func writeNow(_ bytes: ArraySlice<UInt8>) -> Int { bytes.count }
    var unsentCount: Int { 0 }
    func setSpeed(_ speed: BaudRate) {}
    func close() {}
  }

  /// One run. It ends with its second epoch or a later one, whether the epoch is trusted or not.
  private func visit(
    _ port: Port, _ memory: ReceiverMemory, _ clock: ManualClock, epochs: Int = 2,
    restarts: Recorder<String?> = Recorder()
  ) throws -> [GNSSObservation] {
    let stop = StopSignal()
    let reports = SessionReports(restarts) { count in
      if count == epochs { stop.set() }
    }
    let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor), clock: clock)
    let session = ReceiverSession(
      ReceiverConfiguration(speed: .b9600), memory, receiver, suppliedSince: clock.now,
      delegate: reports)
    #expect(try session.start() == .b9600)
    try session.run()
    _ = try session.end()
    return reports.observations.values
  }

  @Test func `a frozen receiver is trusted for a few runs, and then not until it moves`() throws {
    let clock = ManualClock()
    let (port, memory) = (Port(clock), ReceiverMemory())
    let visits = try (0..<10).map { _ in
      clock.advance(by: .seconds(60))
      return try visit(port, memory, clock)
    }
    #expect(visits[0].allSatisfy { !$0.isFrozen && $0.fix.position != nil })
    #expect(visits[9].count >= 2 && visits[9].allSatisfy { $0.isFrozen && $0.fix.position == nil })
    port.setOff()
    #expect(try visit(port, memory, clock).allSatisfy { !$0.isFrozen && $0.fix.position != nil })
  }

  @Test func `a failed search is reported although each run is too short to detect it`() throws {
    let clock = ManualClock()
    let (port, memory, said) = (Port(clock, searches: true), ReceiverMemory(), Recorder<String?>())
    for _ in 0..<6 where said.values.isEmpty {
      clock.advance(by: .seconds(900))
      _ = try visit(port, memory, clock, epochs: 40, restarts: said)
    }
    #expect(
      said.values.first??.contains(
        "it receives satellites well, but finds no "
          + "position") == true, "\(said.values)")
  }
}
