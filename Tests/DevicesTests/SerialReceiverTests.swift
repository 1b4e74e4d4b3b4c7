import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Devices

/// A line to a receiver that gets no commands. It discards the bytes that are written to it.
private protocol ListeningPort: SerialPort {}

extension ListeningPort {
  func write(_ bytes: [UInt8]) {}
  func writeNow(_ bytes: ArraySlice<UInt8>) -> Int { bytes.count }
  var unsentCount: Int { 0 }
  func setSpeed(_ speed: BaudRate) {}
  func close() {}
}

struct SerialReceiverTests {
  /// A receiver read over a pseudo-terminal, on a thread of its own.
  private final class Line: Sendable {
    let observations = Recorder<GNSSObservation>()
    private let stop = StopSignal()

    init(_ terminal: PseudoTerminal) throws {
      let port = try LinuxSerialPort(terminal.path, speed: .b9600)
      let (stop, observations) = (stop, observations)
      let error = DetachedThread.start("receiver") {
        defer { port.close() }
        let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor))
        func receive(_ observation: borrowing GNSSObservation) { observations.append(copy observation) }
        guard (try? receiver.findSpeed(.b9600, receive: receive)) != nil else { return }
        try? receiver.run(receive: receive)
      }
      #expect(error == 0)
    }

    deinit { stop.set() }
  }

  @Test(.timeLimit(.minutes(10)), arguments: ["RMC", "GLL"])
  func `a receiver with one sentence per epoch gives one observation each, at increasing instants`(
    _ sentence: String
  ) async throws {
    let terminal = PseudoTerminal()
    let line = try Line(terminal)
    let sentences = (10..<60).map { second in
      nmeaLine(
        sentence == "RMC"
          ? "GPRMC,1200\(second).00,A,5231.00\(second),N,01322.0000,E,1.0,45.0,211126,,,A"
          : "GPGLL,5231.00\(second),N,01322.0000,E,1200\(second).00,A,A")
    }
    terminal.write(sentences.joined())
    let observations = await line.observations.first(50)
    let expected = (10..<60).map { second -> Double in
      let minutes = 31 + Double(second) / 10000
      return 52 + minutes / 60
    }
    #expect(observations.map { $0.fix.position?.latitudeDegrees ?? 0 } == expected)
    #expect(zip(observations, observations.dropFirst()).allSatisfy { $0.at < $1.at })
  }

  /// A pseudo-terminal that is open as a receiver's line, read by the test itself.
  private final class OpenTerminal {
    let stop = StopSignal()
    private let terminal = PseudoTerminal()
    private let port: LinuxSerialPort

    init() throws { port = try LinuxSerialPort(terminal.path, speed: .b9600) }

    func receiver(_ clock: any MonotonicTimeSource) -> SerialReceiver {
      SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock)
    }

    /// Sends a text, and waits until the kernel has delivered it completely. The kernel signals only the first of its
    /// bytes.
    func say(_ text: String) {
      terminal.write(text)
      let isDelivered = eventually {
        var count: Int32 = 0
        return ioctl(port.fileDescriptor, UInt(FIONREAD), &count) == 0 && Int(count) == text.utf8.count
      }
      #expect(isDelivered)
    }

    func close() { port.close() }
  }

  /// The line carries sentences only at the receiver's own speed.
  @Test(
    .timeLimit(.minutes(10)),
    arguments: [
      ("\r\n$abc,d\r\n", false), ("\r\n$abc,d\r\n$xyz,e\r\n", false), ("\r\n$GPGGA,\r\n", false),
      ("$GPGLL,5231.0,N,01322.0,E,120000,A\r\n$GPGLL,5231.0,N,01322.0,E,120001,A\r\n", true),
      ("$GPTXT,01,01,02,x*35\r\n", true),
    ])
  func `noise that looks like a sentence does not count as a receiver`(_ text: String, _ isReceiver: Bool) throws {
    let terminal = try OpenTerminal()
    defer { terminal.close() }
    let receiver = terminal.receiver(HurryingClock())
    // The kernel may deliver the bytes late. A clock that advances with each read would then be at the next speed, or
    // at the end.
    terminal.say(text)
    if isReceiver {
      #expect(try receiver.findSpeed(nil, receive: { _ in }) == .b9600)
    } else {
      #expect(throws: HardwareError.self) { try receiver.findSpeed(nil, receive: { _ in }) }
    }
  }

  @Test func `data that already waits when the time is over is still read`() throws {
    let terminal = try OpenTerminal()
    defer { terminal.close() }
    let clock = ManualClock()
    let receiver = terminal.receiver(clock)
    let deadline = clock.now + .seconds(1)
    // The answer arrives at once, but the machine is busy for two seconds.
    terminal.say(nmeaLine("PAIR001,002,0"))
    clock.advance(by: .seconds(2))
    var sentences: [String] = []
    let heard = try receiver.read(
      until: deadline, { _ in },
      inspect: { frame in
        if case .sentence(let raw) = frame { sentences.append(String(decoding: raw.bytes, as: UTF8.self)) }
      }, isFound: { !sentences.isEmpty })
    #expect(heard == .heard && sentences.first?.hasPrefix("$PAIR001") == true, "\(sentences)")
    // If nothing waits, the call returns at once.
    #expect(try receiver.read(until: deadline, { _ in }) == .nothing)
    // The call also notices the stop signal.
    terminal.stop.set()
    #expect(try receiver.read(until: deadline, { _ in }) == .stopped)
  }

  /// A clock of a machine that stands still for some seconds between the first look at it and the second.
  private final class StandingClock: MonotonicTimeSource {
    private let clock = ManualClock()
    private let looks = Guarded(0)

    var now: MonotonicInstant {
      let isSecond = looks.withLock { looks in
        looks += 1
        return looks == 2
      }
      if isSecond { clock.advance(by: .seconds(15)) }
      return clock.now
    }

    var minimumResolution: Duration { clock.minimumResolution }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      clock.schedule(at: deadline, action)
    }
  }

  @Test func `bytes that a receiver sent while the machine stood still are still read`() throws {
    let terminal = try OpenTerminal()
    defer { terminal.close() }
    func receiver() -> SerialReceiver { terminal.receiver(StandingClock()) }
    let sentence = nmeaLine("GPTXT,01,01,02,here")
    terminal.say(sentence)
    #expect(try receiver().listen(at: .b9600, for: SerialReceiver.shortestListeningTime, { _ in }) == .heard)
    // Without checksums it takes two sentences.
    terminal.say("$GPGLL,5231.0,N,01322.0,E,120000,A\r\n$GPGLL,5231.0,N,01322.0,E,120001,A\r\n")
    #expect(try receiver().listen(at: .b9600, for: SerialReceiver.shortestListeningTime, { _ in }) == .heard)
    // The search also finds a receiver that was already read.
    terminal.say(sentence)
    let reader = receiver()
    #expect(try reader.run(until: { reader.frameCount == 1 }, receive: { _ in }))
    // The search does not wait for a silent receiver.
    #expect(try receiver().listen(at: .b9600, for: SerialReceiver.shortestListeningTime, { _ in }) == .nothing)
    #expect(throws: HardwareError.self) { try receiver().run(receive: { _ in }) }
    terminal.stop.set()
    #expect(try receiver().listen(at: .b9600, for: SerialReceiver.shortestListeningTime, { _ in }) == .stopped)
  }

  /// A line on which bytes arrive forever.
  private final class NoisyPort: ListeningPort {
    let name = "noise"
    let fileDescriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC)

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      for index in 0..<64 { buffer[index] = 0x95 }
      return 64
    }

    deinit { Glibc.close(fileDescriptor) }
  }

  @Test func `bytes without sentences do not show that a receiver works`() {
    let port = NoisyPort()
    let stop = StopSignal()
    let clock = HurryingClock()
    let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock)
    let error = #expect(throws: HardwareError.self) { try receiver.run(receive: { _ in }) }
    #expect(error?.summary == "bytes but no sentences on noise: wrong speed, or not a receiver")
  }

  /// A line on which nothing arrives.
  private struct SilentPort: ListeningPort {
    let name = "silence"
    let fileDescriptor: Int32
    let longestSilence: Duration

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
  }

  @Test func `a port states how long its receiver may be silent`() {
    // Reads without bytes follow each other, so that the test need not wait.
    let zero = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    defer { Glibc.close(zero) }
    for limit in [10, 900] {
      let stop = StopSignal()
      let clock = HurryingClock()
      let port = SilentPort(fileDescriptor: zero, longestSilence: .seconds(limit))
      let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock)
      let start = clock.now
      #expect(throws: HardwareError.self) { try receiver.run(receive: { _ in }) }
      let silence = clock.now - start
      #expect(silence >= .seconds(limit) && silence < .seconds(limit + 10), "\(silence)")
    }
  }

  /// A receiver at 9600 baud. At any other speed its bytes are noise.
  private final class ReportingPort: ListeningPort {
    let name = "reports"
    let fileDescriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    private let speed = Guarded(BaudRate.b9600)
    private let clock: any MonotonicTimeSource
    private let interval: Duration
    private let next: Guarded<MonotonicInstant>

    /// - Parameters:
    ///   - first: the time until the first sentence
    ///   - interval: the time from one sentence to the next; zero for one at each read
    init(_ clock: any MonotonicTimeSource, first: Duration, interval: Duration = .zero) {
      self.clock = clock
      self.interval = interval
      next = Guarded(clock.now + first)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      let now = clock.now
      let isDue = next.withLock { next in
        guard now >= next else { return false }
        next = next + interval
        return true
      }
      guard isDue else { return 0 }
      let isRight = speed.withLock { $0 } == .b9600
      let text = isRight ? Array(nmeaLine("GPTXT,01,01,02,ready").utf8) : [0x95, 0x24, 0x0a, 0xf1]
      buffer.copyBytes(from: text)
      return text.count
    }

    func setSpeed(_ speed: BaudRate) { self.speed.withLock { $0 = speed } }

    deinit { Glibc.close(fileDescriptor) }
  }

  @Test(arguments: [0, 2, 5, 12]) func `a receiver that starts slowly is found at its speed`(_ seconds: Int)
    throws
  {
    let stop = StopSignal()
    let clock = HurryingClock()
    let port = ReportingPort(clock, first: .seconds(seconds))
    let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock)
    #expect(try receiver.findSpeed(nil, receive: { _ in }) == .b9600)
  }

  @Test(arguments: [0, 1, 2, 3, 4]) func `a receiver that reports every five seconds is found in one round`(
    _ first: Int
  ) throws {
    let stop = StopSignal()
    let clock = HurryingClock()
    let port = ReportingPort(clock.clock, first: .seconds(first), interval: .seconds(5))
    let receiver = SerialReceiver(
      port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock, reportInterval: .seconds(5))
    #expect(try receiver.findSpeed(nil, rounds: 1, receive: { _ in }) == .b9600)
  }

  @Test func `a receiver that reports each second is given the usual time at each speed`() throws {
    func listeningTime(_ rateHz: Double?) -> Duration {
      var settings = ReceiverSettings()
      settings.rateHz = rateHz
      return SerialReceiver(
        port: NoisyPort(), poller: Poller(stop: -1), reportInterval: settings.reportInterval
      ).listeningTime
    }
    #expect([nil, 1, 5, 25].map(listeningTime) == Array(repeating: SerialReceiver.shortestListeningTime, count: 4))
    #expect(listeningTime(0.5) == .seconds(3) && listeningTime(0.2) == .milliseconds(7500))
  }

  @Test func `noise at a wrong speed does not count as a receiver, even if the receiver was found before`() throws {
    let stop = StopSignal()
    let clock = HurryingClock()
    let port = ReportingPort(clock, first: .zero)
    let receiver = SerialReceiver(port: port, poller: Poller(stop: stop.fileDescriptor, clock: clock), clock: clock)
    #expect(try receiver.listen(at: .b9600, for: SerialReceiver.shortestListeningTime, { _ in }) == .heard)
    #expect(try receiver.listen(at: .b38400, for: SerialReceiver.shortestListeningTime, { _ in }) == .nothing)
    #expect(try receiver.listen(at: .b9600, for: SerialReceiver.shortestListeningTime, { _ in }) == .heard)
  }

  /// A clock that advances with each read, so that nothing waits.
  private final class HurryingClock: MonotonicTimeSource {
    let clock = ManualClock()

    var now: MonotonicInstant {
      clock.advance(by: .milliseconds(600))
      return clock.now
    }

    var minimumResolution: Duration { clock.minimumResolution }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      clock.schedule(at: deadline, action)
    }
  }
}
