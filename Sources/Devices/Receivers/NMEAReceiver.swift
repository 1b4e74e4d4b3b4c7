import HardwareIO
import MonotonicTime
import NMEA

/// Any receiver that speaks NMEA 0183 on a serial line: finds its speed, then assembles epochs.
public final class NMEAReceiver {
  /// What has been read.
  public struct Counters: Equatable, Sendable {
    public var sentences = 0
    public var badChecksum = 0
    public var truncated = 0
    public var unknown = 0
    public var epochs = 0

    public init() {}

    public static func + (a: Counters, b: Counters) -> Counters {
      var sum = a
      sum.sentences += b.sentences
      sum.badChecksum += b.badChecksum
      sum.truncated += b.truncated
      sum.unknown += b.unknown
      sum.epochs += b.epochs
      return sum
    }
  }

  /// The speeds to try, the commonest first. Receivers leave the factory with 9600 (most), 38400 (u-blox 9 and later)
  /// or 115200 (recent ones); 4800 is the standard's own.
  static let usualSpeeds: [BaudRate] = [
    .b9600, .b38400, .b115200, .b4800, .b57600, .b19200, .b230400, .b460800, .b921600,
  ]
  /// Receivers report at least once a second.
  private static let listeningTime = Duration.milliseconds(1500)
  private static let silenceLimit = Duration.seconds(10)

  private let port: any SerialPort
  private let poller: Poller
  private let clock: any MonotonicTimeSource
  private let forward: () -> ((UnsafeBufferPointer<UInt8>) -> Void)?
  /// The sentences of the present read, a line each.
  private var lines: [UInt8] = []
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
  private var framer = SentenceFramer()
  private var assembler = EpochAssembler(promptness: .learned)
  /// As of the last read.
  public private(set) var counters = Counters()
  /// Of the last epoch that was reported.
  private var lastEpochAt: MonotonicInstant?

  /// - Parameter forward: asked with each read for who gets its sentences as they came, after the epochs that they end
  public init(
    port: any SerialPort, poller: Poller, clock: any MonotonicTimeSource = MonotonicClock(),
    forward: @escaping () -> ((UnsafeBufferPointer<UInt8>) -> Void)? = { nil }
  ) {
    self.forward = forward
    self.port = port
    self.poller = poller
    self.clock = clock
  }

  deinit { buffer.deallocate() }

  /// Listens at one speed after the other until a sentence comes in whole. What is heard on the way is not lost.
  ///
  /// - Parameter speed: the only one to try, or `nil` to try the usual ones
  /// - Returns: the speed, or `nil` when told to stop
  public func findSpeed(_ speed: BaudRate?, receive: (borrowing GNSSObservation) -> Void) throws(HardwareError)
    -> BaudRate?
  {
    for candidate in speed.map({ [$0] }) ?? NMEAReceiver.usualSpeeds {
      try port.setSpeed(candidate)
      framer.reset()
      let deadline = clock.now + (speed == nil ? NMEAReceiver.listeningTime : NMEAReceiver.silenceLimit)
      while clock.now < deadline {
        switch poller.wait(for: port.fileDescriptor, atMost: deadline - clock.now) {
        case .stopped: return nil
        case .timedOut: break
        case .readable:
          try take(receive)
          if framer.counters.sentences > 0 { return candidate }
        }
      }
    }
    let tried = speed.map { "\($0.rawValue) baud" } ?? "any of the usual speeds"
    throw .unexpectedDevice(
      "nothing on \(port.name) speaks NMEA at \(tried): is the receiver powered, and are TX and RX swapped?")
  }

  /// Reads epochs until told to stop.
  public func run(receive: (borrowing GNSSObservation) -> Void) throws(HardwareError) {
    while true {
      let quiet = assembler.silenceThatEnds.map { Duration.nanoseconds($0) }
      switch poller.wait(for: port.fileDescriptor, atMost: quiet ?? NMEAReceiver.silenceLimit) {
      case .stopped: return
      case .readable: try take(receive)
      case .timedOut:
        assembler.finish { receive(observation(of: $0)) }
        if quiet == nil { throw .timedOut("the receiver on \(port.name)") }
      }
    }
  }

  private func take(_ receive: (borrowing GNSSObservation) -> Void) throws(HardwareError) {
    let count = try port.read(into: buffer)
    let readAt = clock.now
    let bytes = UnsafeBufferPointer(rebasing: buffer.bindMemory(to: UInt8.self)[..<count])
    var unknown = 0
    let forward = forward()
    framer.push(bytes, readAt: readAt.nanoseconds) { raw in
      if forward != nil {
        lines += raw.bytes
        lines += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
      }
      if case .unknown = assembler.consume(raw, receive: { receive(observation(of: $0)) }) { unknown += 1 }
    }
    if let forward, !lines.isEmpty {
      lines.withUnsafeBufferPointer(forward)
      lines.removeAll(keepingCapacity: true)
    }
    counters.sentences = framer.counters.sentences
    counters.badChecksum = framer.counters.badChecksum
    counters.truncated = framer.counters.truncated
    counters.unknown += unknown
    counters.epochs = assembler.epochCount
  }

  /// Each epoch has an instant of its own, also where several come in one read.
  private func observation(of epoch: borrowing GNSSEpoch) -> GNSSObservation {
    var at = MonotonicInstant(nanoseconds: epoch.beganAt)
    if let lastEpochAt { at = max(at, lastEpochAt + .nanoseconds(1)) }
    lastEpochAt = at
    return GNSSObservation(
      at: at, fix: epoch.fix, sky: epoch.sky.satellites, errorStatistics: epoch.errorStatistics)
  }
}
