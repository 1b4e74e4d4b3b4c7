import HardwareIO
import MonotonicTime
import NMEA

/// Reads a receiver that sends sentences or binary messages. It finds the speed of the line, and then assembles epochs.
public final class SerialReceiver {
  /// The speeds to try, the commonest first. The factory setting is 9600 for most receivers, 38400 for u-blox 9 and
  /// later, and 115200 for recent receivers; 4800 is the speed in the NMEA 0183 standard.
  static let usualSpeeds: [BaudRate] = [
    .b9600, .b38400, .b115200, .b4800, .b57600, .b19200, .b230400, .b460800, .b921600,
  ]
  /// How long to listen at one speed for a receiver that reports at least once a second, as receivers do unless they
  /// are configured otherwise.
  static let shortestListeningTime = Duration.milliseconds(1500)
  /// The maximum time between two reports of the counts.
  private static let longestWait = Duration.seconds(10)
  /// The maximum time to send the bytes that a client of the bridge has left, in addition to the time that the line
  /// needs for them.
  private static let farewellLimit = Duration.seconds(10)
  /// The time in which a receiver acts on the last message of a client.
  private static let actingTime = Duration.milliseconds(300)
  /// The time for a second sentence. If a receiver sends no checksums, only a second sentence distinguishes it from
  /// noise, and the sentences may be a second apart.
  private static let shortestSecondSentenceLimit = Duration.seconds(3)

  let port: any SerialPort
  /// The poller of the port. During an orderly end, a poller that ignores requests to stop.
  var poller: Poller
  let clock: any MonotonicTimeSource
  private let report: (ReceiverDecoder.Counters) -> Void
  private let forward: () -> ((ReceivedBytes) -> Void)?
  private let forwardRaw: () -> (([UInt8]) -> Void)?
  private let corrections: CorrectionQueue?
  /// Writes corrections while epochs are read, but not during requests to the receiver.
  private var feed: CorrectionFeed?
  /// The clients' way to the receiver; `nil` if clients cannot write to it.
  let bridge: ReceiverBridge?
  /// The events of the bridge that end a wait early. During requests to the receiver there are none.
  private var attention = Attention.none
  private var speed = BaudRate.b9600
  /// The time without meaningful bytes after which reading fails.
  private let silenceLimit: Duration
  /// How long to listen at one speed for the reports of this receiver.
  let listeningTime: Duration
  /// The time for a second sentence of this receiver.
  private let secondSentenceLimit: Duration
  /// Whether only one speed is tried.
  private var isSpeedFixed = false
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
  private var decoder = ReceiverDecoder()
  private var rate = ReadRate()
  /// The port's count of bytes that are not the receiver's, at the last read.
  private var leftOutCount = 0
  /// The number of bytes read so far, valid or not.
  private(set) var byteCount = 0
  /// The counts at the last read, or at the end of the silence after it.
  public var counters: ReceiverDecoder.Counters {
    var counters = decoder.counters
    counters.busErrors = port.errorCount
    return counters
  }

  /// The receiver's identity from its output, up to the last read.
  public private(set) var speech = ReceiverIdentity.Speech()

  /// - Parameters:
  ///   - report: gets the present counts, at each read and when a wait ends without bytes
  ///   - forward: called at each read; returns the function that gets the sentences as received, after the epochs that
  ///     they end
  ///   - forwardRaw: called at each read; returns the function that gets every byte as received, before it is decoded
  ///   - corrections: the corrections to write to the receiver while its epochs are read
  ///   - bridge: the clients' way to the receiver
  ///   - reportInterval: the time between two reports of the receiver, at least a second
  public init(
    port: any SerialPort, poller: Poller, clock: any MonotonicTimeSource = MonotonicClock(),
    report: @escaping (ReceiverDecoder.Counters) -> Void = { _ in },
    forward: @escaping () -> ((ReceivedBytes) -> Void)? = { nil },
    forwardRaw: @escaping () -> (([UInt8]) -> Void)? = { nil }, corrections: CorrectionQueue? = nil,
    bridge: ReceiverBridge? = nil, reportInterval: Duration = .seconds(1)
  ) {
    self.corrections = corrections
    self.bridge = bridge
    self.forwardRaw = forwardRaw
    self.report = report
    self.forward = forward
    self.port = port
    silenceLimit = port.longestSilence
    listeningTime = max(SerialReceiver.shortestListeningTime, reportInterval * 1.5)
    secondSentenceLimit = max(SerialReceiver.shortestSecondSentenceLimit, reportInterval * 1.5)
    self.poller = poller
    self.clock = clock
  }

  deinit { buffer.deallocate() }

  /// Listens at one speed after the other until sentences or messages arrive. Sentences that arrive during the search
  /// are not lost.
  ///
  /// - Parameters:
  ///   - speed: the only speed to try; `nil` tries the usual speeds; ignored if the port has no speed
  ///   - rounds: the number of rounds; a receiver that has just been switched on may take seconds to send
  /// - Returns: the speed; `nil` when told to stop
  public func findSpeed(
    _ speed: BaudRate?, rounds: Int = 3, receive: (borrowing GNSSObservation) -> Void
  ) throws(HardwareError) -> BaudRate? {
    let (startedAt, bytes) = (clock.now, byteCount)
    isSpeedFixed = speed != nil
    // If the port has no line speed, any value works.
    if let speed = port.hasSpeed ? speed : .b115200 {
      switch try listen(at: speed, for: silenceLimit, receive) {
      case .heard: return speed
      case .stopped: return nil
      case .nothing: throw unheard(since: bytes, for: clock.now - startedAt)
      }
    }
    for _ in 0..<rounds {
      for candidate in SerialReceiver.usualSpeeds {
        switch try listen(at: candidate, for: listeningTime, receive) {
        case .heard: return candidate
        case .stopped: return nil
        case .nothing: break
        }
      }
    }
    throw unheard(since: bytes, for: clock.now - startedAt)
  }

  enum Hearing { case heard, nothing, stopped }

  /// The events of the bridge that end a wait for the receiver early.
  private enum Attention {
    case none
    /// A client that begins to write. The reading of epochs then ends.
    case claim
    /// Each message of the client that writes.
    case relay
  }

  /// Listens at one speed until a sentence with a valid checksum arrives, or two other sentences or binary messages.
  /// After the first of the two, it listens for at least `secondSentenceLimit`. When the time is over, it reads the
  /// waiting bytes once more, like `read(until:)`.
  ///
  /// - Parameter bytes: the bytes to send first, in case the receiver is asleep
  func listen(
    at speed: BaudRate, for time: Duration, saying bytes: [UInt8] = [],
    _ receive: (borrowing GNSSObservation) -> Void
  ) throws(HardwareError) -> Hearing {
    try setSpeed(speed)
    if !bytes.isEmpty { try port.write(bytes) }
    let first = decoder.knownCount + 1
    let sentences = decoder.counters.sentences
    var deadline = clock.now + time
    var isLast = false
    while !isLast {
      let left = deadline - clock.now
      isLast = left <= .zero
      switch poller.wait(for: port.fileDescriptor, atMost: max(.zero, left)) {
      case .stopped: return .stopped
      case .timedOut: break
      case .readable:
        let before = decoder.knownCount
        try take(receive)
        // Only a checksum that was heard at this speed shows that the speed is right.
        let hasChecksum = decoder.expectsChecksums && decoder.counters.sentences > sentences
        if hasChecksum || decoder.knownCount > first { return .heard }
        if decoder.knownCount > before {
          deadline = max(deadline, clock.now + secondSentenceLimit)
          isLast = false
        }
      }
    }
    return .nothing
  }

  func setSpeed(_ speed: BaudRate) throws(HardwareError) {
    try port.setSpeed(speed)
    self.speed = speed
    decoder.reset()
  }

  /// The error for a line on which nothing meaningful has arrived.
  ///
  /// - Parameters:
  ///   - bytes: the number of bytes that had been read when the reader began to listen
  ///   - time: how long the reader has listened
  private func unheard(since bytes: Int, for time: Duration) -> HardwareError {
    let isSilent = byteCount - bytes < FixSearch.leastNoise
    if !port.hasSpeed {
      if isSilent { return .timedOut(port.name) }
      return .unexpectedDevice("\(port.name) sends something other than NMEA, UBX and CASIC")
    }
    let finding = isSilent ? FixSearch.Finding.silent(time) : .noSentences(time)
    return .unheard(
      finding.summary(on: port.name), nextStep: finding.nextStep(on: port.name, isSpeedFixed: isSpeedFixed) ?? "")
  }

  /// The way in which the receiver has hung; `nil` if it has not.
  var fault: FrozenOutputDetector.Fault? { decoder.fault }

  /// The state of the detection of a frozen receiver.
  var suspicion: FrozenOutputDetector { decoder.suspicion }

  /// Continues the detection of a frozen receiver from the state of an earlier run.
  func resume(_ suspicion: FrozenOutputDetector) { decoder.resume(suspicion) }

  /// Reads epochs until told to stop.
  public func run(receive: (borrowing GNSSObservation) -> Void) throws(HardwareError) {
    _ = try run(until: { false }, receive: receive)
  }

  /// Reads epochs until told to stop, or until a condition is met.
  ///
  /// - Parameter isOver: the condition, checked after each read
  /// - Returns: whether the condition was met, and the reader was not told to stop
  func run(
    until isOver: () -> Bool, receive: (borrowing GNSSObservation) -> Void
  ) throws(HardwareError) -> Bool {
    feed = corrections.map { CorrectionFeed($0) }
    attention = .claim
    defer {
      feed?.finish(on: port)
      feed = nil
      attention = .none
    }
    var (frames, bytes) = (frameCount, byteCount)
    var deadline = clock.now + silenceLimit
    while true {
      let left = deadline - clock.now
      // A wait is limited, because its end updates the status of a silent receiver.
      let wait = min(max(.zero, left), SerialReceiver.longestWait)
      if try read(atMost: wait, receive) == .stopped { return false }
      if isOver() { return true }
      if frameCount != frames {
        (frames, bytes) = (frameCount, byteCount)
        deadline = clock.now + silenceLimit
      } else if left <= .zero {
        // Bytes alone do not show that the receiver works. At a wrong speed, or in an unknown binary protocol, bytes
        // arrive forever.
        throw unheard(since: bytes, for: silenceLimit)
      }
    }
  }

  /// Passes the bytes of the bridge's client to the receiver, and reads epochs, until the client has left and its bytes
  /// are sent. Silence is not an error here, because the client may have stopped the receiver's output, or changed its
  /// speed.
  ///
  /// - Returns: whether the client has left, and the reader was not told to stop
  func relay(receive: (borrowing GNSSObservation) -> Void) throws(HardwareError) -> Bool {
    guard let bridge else { return true }
    var feed = BridgeFeed(bridge)
    var deadline: MonotonicInstant?
    attention = .relay
    defer { attention = .none }
    var isStopped = false
    while !feed.isOver, !isStopped {
      let pause = try feed.write(to: port, at: speed)
      if bridge.hasWriter {
        deadline = nil
      } else {
        let end = deadline ?? clock.now + SerialReceiver.farewellLimit + speed.time(for: feed.unwrittenCount)
        deadline = end
        if clock.now >= end {
          bridge.dropLeft()
          break
        }
        if feed.isOver { break }
      }
      let limit = min(pause ?? silenceLimit, silenceLimit)
      isStopped = try read(atMost: limit, receive) == .stopped
    }
    try feed.endMessage(on: port)
    if isStopped { return false }
    attention = .none
    // Before the hub sends commands, the line must have sent the client's last message, and the receiver must have
    // acted on it.
    let rest = speed.time(for: port.unsentCount) + SerialReceiver.actingTime
    return try read(until: clock.now + rest, receive) != .stopped
  }

  /// The number of sentences and messages so far.
  var frameCount: Int { counters.sentences + counters.messages }

  /// Reads epochs until an instant, and then the waiting bytes once more; or until the awaited answer has arrived.
  ///
  /// - Parameter isFound: called after each read
  /// - Returns: `nothing` if the instant came first
  func read(
    until deadline: MonotonicInstant, _ receive: (borrowing GNSSObservation) -> Void,
    inspect: ((ReceiverFramer.Frame) -> Void)? = nil, isFound: () -> Bool = { false }
  ) throws(HardwareError) -> Hearing {
    var isLast = false
    while !isLast {
      let left = deadline - clock.now
      // When the deadline has passed, read once more: if the machine was suspended, waiting bytes may have arrived in
      // time.
      isLast = left <= .zero
      if try read(atMost: max(.zero, left), receive, inspect) == .stopped { return .stopped }
      if isFound() { return .heard }
    }
    return .nothing
  }

  /// Reads once, ends an epoch after a silence, or returns when the time is over.
  ///
  /// - Returns: `nil` if a client of the bridge needs attention
  private func read(
    atMost limit: Duration, _ receive: (borrowing GNSSObservation) -> Void,
    _ inspect: ((ReceiverFramer.Frame) -> Void)? = nil
  ) throws(HardwareError) -> Poller.Event? {
    // A read without bytes does not interrupt a silence. Such reads occur on a bus whose receiver must be polled.
    let silence = decoder.silenceEndsAt.map { max(.zero, $0 - clock.now) } ?? limit
    guard let event = try wait(atMost: min(silence, limit)) else { return nil }
    switch event {
    case .stopped: break
    case .readable: try take(receive, inspect)
    case .timedOut:
      // Only a full silence ends the epoch. If the caller's `limit` was shorter than that, the epoch stays open.
      if silence <= limit, let end = decoder.silenceEndsAt { decoder.endEpoch(at: end, receive) }
      report(counters)
    }
    return event
  }

  /// Waits for the receiver, and writes its corrections in the meantime.
  ///
  /// - Returns: `nil` if a client of the bridge needs attention
  private func wait(atMost limit: Duration) throws(HardwareError) -> Poller.Event? {
    guard attention != .none, let signal = bridge?.signal ?? corrections?.signal else {
      return poller.wait(for: port.fileDescriptor, atMost: limit)
    }
    let deadline = clock.now + limit
    while true {
      if attention == .claim, bridge?.isInUse == true { return nil }
      let pause = try feed?.write(to: port, at: speed)
      let left = max(.zero, deadline - clock.now)
      let isPause = pause.map { $0 < left } ?? false
      let event = poller.wait(for: port.fileDescriptor, or: signal, atMost: isPause ? pause : left)
      if event == nil, attention == .relay { return nil }
      // If a correction was added, or only the feed's pause is over, write again.
      if let event, event != .timedOut || !isPause { return event }
    }
  }

  private func take(
    _ receive: (borrowing GNSSObservation) -> Void, _ inspect: ((ReceiverFramer.Frame) -> Void)? = nil
  ) throws(HardwareError) {
    let count = try port.read(into: buffer)
    if count > 0 {
      byteCount += count
      let bytes = UnsafeBufferPointer(rebasing: buffer.bindMemory(to: UInt8.self)[..<count])
      if let forwardRaw = forwardRaw() { forwardRaw(Array(bytes)) }
      decoder.take(
        bytes, readAt: clock.now,
        forward: forward(), inspect: inspect, receive: receive)
      // Copy the value, because the code that gets an epoch may read it while the decoder is in use.
      speech = decoder.speech
      if let outcomes = decoder.takeOutcomes() { corrections?.note(outcomes) }
    }
    report(counters)
    if port.hasSpeed { return }
    // The limit is for everything that the sender sends, also for a gpsd's reports, which the port has left out.
    let leftOut = port.leftOutCount
    let arrived = count + leftOut - leftOutCount
    leftOutCount = leftOut
    // Bytes that arrive during this pause wait in the socket, or are lost there. The result is not needed: a request to
    // stop also ends the next wait.
    if let pause = rate.pause(after: arrived, at: clock.now) { _ = poller.wait(for: nil, atMost: pause) }
  }
}

/// Limits the rate at which a receiver on the network is read. A sender on the network can send as much as the network
/// carries, but the baud rate limits a serial line.
struct ReadRate {
  /// The limit, which is above the rate of the fastest line (921,600 baud).
  static let mostBytesPerSecond = 128 << 10
  /// Each read counts as at least this number of bytes, because reading tiny pieces takes time too.
  static let leastBytesPerRead = 64

  private var second: (beganAt: MonotonicInstant, byteCount: Int)?

  /// Counts a read.
  ///
  /// - Returns: the time to wait before the next read; `nil` if it may follow at once
  mutating func pause(after count: Int, at now: MonotonicInstant) -> Duration? {
    var present = second ?? (now, 0)
    if now - present.beganAt >= .seconds(1) { present = (now, 0) }
    present.byteCount += max(count, ReadRate.leastBytesPerRead)
    second = present
    return present.byteCount < ReadRate.mostBytesPerSecond ? nil : .seconds(1) - (now - present.beganAt)
  }
}
