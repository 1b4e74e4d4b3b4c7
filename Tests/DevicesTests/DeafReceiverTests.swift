import Devices
import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

/// A receiver that sends but no longer receives does not delay the end of a run. The clock advances with the receiver's
/// output.
struct DeafReceiverTests {
  /// Sends a sentence each tenth of a second.
  private final class TalkingPort: SerialPort {
    private struct State {
      var epochs = 0
      var isDeaf = false
      var answers: [UInt8] = []
      var said: [[UInt8]] = []
    }

    let name = "talking"
    // The descriptor is always readable.
    let fileDescriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    private let clock: ManualClock
    private let state = Guarded(State())

    init(_ clock: ManualClock) { self.clock = clock }

    deinit { Glibc.close(fileDescriptor) }

    var isDeaf: Bool {
      get { state.withLock { $0.isDeaf } }
      set { state.withLock { $0.isDeaf = newValue } }
    }

    /// The bytes sent to the receiver.
    var said: [[UInt8]] { state.withLock { $0.said } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      clock.advance(by: .milliseconds(100))
      let bytes = state.withLock { state in
        state.epochs += 1
        defer { state.answers = [] }
        let (second, tenth) = (state.epochs / 10 % 60, state.epochs % 10)
        let time = "12\(state.epochs / 600 + 10)\(second < 10 ? "0" : "")\(second).\(tenth)0"
        return state.answers + Array(nmeaLine("GPGLL,5231.0000,N,01322.0000,E,\(time),A,A").utf8)
      }
      buffer.copyBytes(from: bytes)
      return bytes.count
    }

    /// Answers as a u-blox receiver of the eighth generation.
    func writeNow(_ bytes: ArraySlice<UInt8>) -> Int {
      write(Array(bytes))
      return bytes.count
    }

    var unsentCount: Int { 0 }

    func write(_ bytes: [UInt8]) {
      state.withLock { state in
        state.said.append(bytes)
        guard !state.isDeaf, bytes.count >= 8, bytes[0] == 0xB5 else { return }
        let isQuestion = bytes.count == 8
        switch (bytes[2], bytes[3]) {
        case (0x0A, 0x04):
          state.answers += MadeMessage.ubx(
            0x0A04, [UInt8](repeating: 0x20, count: 30) + Array("00080000".utf8) + [0, 0])
        case (0x06, 0x08) where isQuestion: state.answers += MadeMessage.ubx(0x0608, [0xE8, 3, 1, 0, 1, 0])
        case (0x06, 0x24) where isQuestion:
          state.answers += MadeMessage.ubx(0x0624, [UInt8](repeating: 0, count: 36))
        default: break
        }
        if bytes[2] == 6 { state.answers += MadeMessage.ubx(0x0501, [6, bytes[3]]) }
      }
    }

    func setSpeed(_ speed: BaudRate) {}
    func close() {}
  }

  /// A session, its reports, and its stop signal.
  private struct Bench {
    let clock = ManualClock()
    let port: TalkingPort
    let stop = StopSignal()
    let reports = SessionReports()
    let session: ReceiverSession

    init(isDeaf: Bool = false) {
      let port = TalkingPort(clock)
      port.isDeaf = isDeaf
      self.port = port
      var configuration = ReceiverConfiguration(driver: .ublox, speed: .b9600, sleep: .backup)
      configuration.settings.rateHz = 5
      configuration.settings.dynamicModel = .sea
      configuration.settings.restores = true
      let serial = SerialReceiver(
        port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock)
      session = ReceiverSession(
        configuration, ReceiverMemory(), serial, suppliedSince: clock.now, delegate: reports)
    }

    var warnings: Recorder<String?> { reports.warnings }

    /// Returns how long the end of the run takes, and whether the receiver sleeps afterwards.
    func end() throws -> (duration: Duration, isAsleep: Bool) {
      let start = clock.now
      let isAsleep = try session.end()
      return (clock.now - start, isAsleep)
    }
  }

  /// Three seconds, plus the sentence that is read at that time, and the sentence that waits afterwards.
  private let limit = Duration.milliseconds(3200)

  @Test func `a run ends within about three seconds, with a warning, if the receiver has gone deaf`() throws {
    let bench = Bench()
    #expect(try bench.session.start() == .b9600)
    #expect(bench.warnings.values == [nil])
    bench.port.isDeaf = true
    bench.stop.set()
    try bench.session.run()
    let said = bench.port.said.count
    let end = try bench.end()
    #expect(end.duration <= limit && !end.isAsleep)
    #expect(bench.port.said.count > said)
    #expect(bench.warnings.values.contains { $0?.contains("its settings could not be restored") == true })
    #expect((bench.warnings.values.last ?? nil)?.contains("keeps sending") == true)
  }

  @Test func `a receiver that was deaf from the start is not asked again`() throws {
    let bench = Bench(isDeaf: true)
    #expect(try bench.session.start() == .b9600)
    bench.stop.set()
    try bench.session.run()
    let end = try bench.end()
    #expect(end.duration == .zero && !end.isAsleep)
    #expect((bench.warnings.values.last ?? nil)?.contains("could not be put to sleep") == true)
  }

  @Test func `a deaf receiver in a run that ends at once takes at most three seconds`() throws {
    let bench = Bench(isDeaf: true)
    bench.stop.set()
    #expect(try bench.session.start() == nil)
    let end = try bench.end()
    #expect(end.duration <= limit && !end.isAsleep)
    #expect((bench.warnings.values.last ?? nil)?.contains("could not be put to sleep") == true)
  }

  @Test func `a receiver that answers is restored and put to sleep within three seconds`() throws {
    let bench = Bench()
    #expect(try bench.session.start() == .b9600)
    bench.stop.set()
    try bench.session.run()
    #expect(try bench.end().duration <= limit)
    let kinds = bench.port.said.suffix(3).map { Array($0[2..<4]) }
    #expect(kinds == [[0x06, 0x08], [0x06, 0x24], [0x02, 0x41]])
  }
}
