import HardwareIO
import MonotonicTime
import NMEA

/// Sends requests to a receiver and receives its answers, while the receiver is read. Epochs that arrive between a
/// request and its answer are delivered to the reader's handler.
public final class CommandChannel {
  /// The time for the answer to one attempt. A receiver at 9600 baud may have to send a second's sentences first.
  private static let patience = Duration.milliseconds(1500)
  /// The additional time in which a late answer may arrive.
  private static let lateness = Duration.seconds(3)

  /// A request that was sent more often than it was answered. An acknowledgement names the kind of a request but not
  /// its contents, so a late acknowledgement must not count for another request of this kind.
  private struct Due {
    var request: any ReceiverRequest
    var count: Int
  }

  private var due: [String: Due] = [:]

  let receiver: SerialReceiver
  private let receive: (borrowing GNSSObservation) -> Void
  /// The present speed of the line.
  private(set) var speed: BaudRate
  /// The time by which the present run must end; `nil` until `endInOrder` sets it. The end of a run must not wait for a
  /// receiver that no longer answers.
  private var deadline: MonotonicInstant?
  static let endingTime = Duration.seconds(3)
  /// The driver of the assumed receiver, during identification.
  private var expected: ReceiverDriver?
  /// Whether a receiver was heard that uses a different protocol from the expected one, so that no answer will come.
  private var isContradicted = false
  /// Whether the reader was told to stop. After that, requests end with `stopped`, without waiting for an answer.
  private(set) var isStopped = false

  init(_ receiver: SerialReceiver, speed: BaudRate, receive: @escaping (borrowing GNSSObservation) -> Void) {
    self.receiver = receiver
    self.speed = speed
    self.receive = receive
  }

  private var clock: any MonotonicTimeSource { receiver.clock }

  /// The port's path, for example `/dev/ttyAMA0`.
  var portName: String { receiver.port.name }

  /// Sends a request and waits for the answer.
  ///
  /// - Parameters:
  ///   - patience: the time to wait for the answer to each attempt
  ///   - tries: the number of attempts before the receiver counts as not answering
  func ask(
    _ request: some ReceiverRequest, within patience: Duration = CommandChannel.patience, tries: Int = 2
  ) throws(HardwareError) -> ReceiverAnswer {
    var pending = due.removeValue(forKey: request.subject)
    if let other = pending, other.request.bytes != request.bytes {
      pending = nil
      try awaitLate(other)
      if isStopped { return .stopped }
    }
    var last = ReceiverAnswer.unanswered
    // An answer to an earlier attempt is equally valid, because the contents were the same.
    var count = pending?.count ?? 0
    defer { if count > 0 { due[request.subject] = Due(request: request, count: count) } }
    for _ in 0..<tries where !isOverdue && !isContradicted {
      var open = request
      var answer: ReceiverAnswer?
      try receiver.port.write(request.bytes)
      count += 1
      try read(
        for: patience,
        inspect: { frame in
          self.look(at: frame)
          if answer == nil { answer = open.take(frame) }
        }, isFound: { answer != nil || isContradicted })
      if answer != nil || open.answerSoFar.isGood { count -= 1 }
      if let answer { return answer }
      if isStopped { return .stopped }
      last = open.answerSoFar
      if last.isGood { return last }
    }
    return last
  }

  /// Checks whether a frame shows that the receiver does not use the expected protocol.
  private func look(at frame: ReceiverFramer.Frame) {
    guard let expected, let speaker = ReceiverDriver.speaker(of: frame), speaker != expected else { return }
    isContradicted = true
  }

  /// Sends requests in the protocol of an assumed receiver, until a receiver with another protocol is heard.
  func expecting<Answer>(
    _ driver: ReceiverDriver, _ ask: () throws(HardwareError) -> Answer
  ) throws(HardwareError) -> Answer {
    expected = driver
    defer { (expected, isContradicted) = (nil, false) }
    return try ask()
  }

  /// Waits for late answers to earlier attempts, for at most `lateness`, and ignores them. Otherwise such an answer
  /// would count for the next request.
  private func awaitLate(_ due: Due) throws(HardwareError) {
    var (open, count) = (due.request, due.count)
    try read(
      for: CommandChannel.lateness,
      inspect: { frame in
        guard open.take(frame) != nil else { return }
        open = due.request
        count -= 1
      }, isFound: { count <= 0 })
  }

  /// Whether the deadline of `endInOrder` has passed.
  var isOverdue: Bool { deadline.map { clock.now >= $0 } ?? false }

  /// Sends bytes that are not answered.
  func say(_ bytes: [UInt8]) throws(HardwareError) { try receiver.port.write(bytes) }

  /// Sends bytes, if any, and receives an answer of several parts.
  ///
  /// - Parameter isLast: examines each part; after it returns true, the wait ends
  func say(
    _ bytes: [UInt8], within limit: Duration, _ isLast: @escaping (ReceiverFramer.Frame) -> Bool
  ) throws(HardwareError) {
    if !bytes.isEmpty { try say(bytes) }
    var isOver = false
    try read(for: limit, inspect: { if isLast($0) { isOver = true } }, isFound: { isOver })
  }

  /// Sends bytes, and listens for the whole time, even if an answer arrives earlier.
  func say(
    _ bytes: [UInt8], for time: Duration, _ look: @escaping (ReceiverFramer.Frame) -> Void
  ) throws(HardwareError) {
    try say(bytes)
    try read(for: time, inspect: look)
  }

  var now: MonotonicInstant { clock.now }

  /// Reads without sending anything.
  ///
  /// - Returns: whether the reader was told to stop
  @discardableResult
  func listen(for time: Duration) throws(HardwareError) -> Bool {
    try read(for: time)
    return isStopped
  }

  @discardableResult
  private func read(
    for time: Duration, inspect: ((ReceiverFramer.Frame) -> Void)? = nil, isFound: () -> Bool = { false }
  ) throws(HardwareError) -> SerialReceiver.Hearing {
    let end = clock.now + time
    let heard = try receiver.read(
      until: deadline.map { min($0, end) } ?? end, receive, inspect: inspect, isFound: isFound)
    if heard == .stopped { isStopped = true }
    return heard
  }

  /// Switches the receiver to another speed, switches the line, and asks whether the receiver followed. If it did not,
  /// restores the old speed of the line.
  ///
  /// - Parameters:
  ///   - bytes: the command to switch
  ///   - request: a request whose answer shows that the receiver followed
  func changeSpeed(
    to new: BaudRate, saying bytes: [UInt8], asking request: some ReceiverRequest
  ) throws(HardwareError) -> ReceiverAnswer {
    let old = speed
    // Between the two speeds the receiver could be lost, so a request to stop waits until the change is over.
    let poller = receiver.poller
    receiver.poller = poller.unstoppable
    defer { receiver.poller = poller }
    try say(bytes)
    // Pending output leaves at the old speed, and some receivers need time to switch.
    try listen(for: old.time(for: bytes.count) + .milliseconds(150))
    try go(to: new)
    switch try ask(request, within: .milliseconds(800)) {
    case .accepted, .answered, .refused:
      // Bytes from before the switch have no meaning at the new speed.
      due = [:]
      return .accepted
    case .otherwise, .unanswered, .stopped: break
    }
    try go(to: old)
    let answer = try ask(request)
    return answer.isGood ? .refused : answer
  }

  func go(to speed: BaudRate) throws(HardwareError) {
    try receiver.setSpeed(speed)
    self.speed = speed
  }

  /// Waits until the receiver has sent nothing for `silence`. Noise counts as sending, because the bytes of a receiver
  /// at another speed arrive as noise.
  ///
  /// - Returns: whether the receiver fell silent before the limit. If the deadline of `endInOrder` comes first, returns
  ///   whether the receiver has sent no byte since the call
  func awaitSilence(of silence: Duration, within limit: Duration) throws(HardwareError) -> Bool {
    let end = clock.now + limit
    let first = receiver.byteCount
    while clock.now < end, !isOverdue {
      let count = receiver.byteCount
      let heard = try read(for: silence, isFound: { receiver.byteCount != count })
      if heard == .nothing { return !isOverdue || receiver.byteCount == first }
      if heard == .stopped { return false }
    }
    return false
  }

  /// Listens for bytes that only the receivers of one manufacturer send.
  ///
  /// - Returns: the protocol of these receivers; `nil` if no such bytes arrived
  func protocolHeard(within time: Duration) throws(HardwareError) -> ReceiverDriver? {
    var speaker: ReceiverDriver?
    try read(
      for: time, inspect: { if speaker == nil { speaker = ReceiverDriver.speaker(of: $0) } },
      isFound: { speaker != nil })
    return speaker
  }

  /// Ignores requests to stop from now on, so that work in progress can be completed.
  ///
  /// - Parameter deadline: the latest end of that work
  func endInOrder(by deadline: MonotonicInstant) {
    receiver.poller = receiver.poller.unstoppable
    isStopped = false
    self.deadline = deadline
  }
}
