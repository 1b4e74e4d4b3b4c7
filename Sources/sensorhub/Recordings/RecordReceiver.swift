import CLinux
import FoundationEssentials
import Glibc
import MonotonicTime
import Outputs
import SystemPackage

/// Receives the hub's recording until its end.
struct RecordReceiver: ~Copyable {
  /// How a recording ended.
  enum Ending {
    /// The hub has ended the file as requested: the time of `--for` is over, or the user pressed Ctrl-C.
    case asked
    /// The hub has closed the connection although it was not asked to end the file.
    case closed
    /// The hub was asked to end the file, and has sent nothing for `patience`.
    case silent
    /// The user pressed Ctrl-C again, so as not to wait until the hub has ended the file.
    case interrupted
    /// The user asked to end, but the program that reads the output has stopped reading. This number of received bytes
    /// is lost.
    case stalled(byteCount: Int)
    /// The output accepts no more bytes.
    case failed(Errno)
  }

  /// How long the hub may be silent after it was asked to end.
  private static let patience = Duration.seconds(30)
  /// The maximum time for which the program that reads the output may accept nothing after the user asked to end.
  private static let readerPatience = Duration.seconds(1)
  /// A second signal within this time counts as the same Ctrl-C, because `timeout` sends its signal twice.
  private static let shortestReaction = Duration.milliseconds(300)

  private let connection: HubConnection
  private let target: RecordTarget
  private let signals: EndSignals
  private let clock = MonotonicClock()
  private let start: MonotonicInstant
  /// When to ask the hub to end the file; `nil` to wait for the user.
  private let endsAt: MonotonicInstant?
  private var askedAt: MonotonicInstant?
  /// When the user first asked to end.
  private var signalledAt: MonotonicInstant?
  /// When the hub was asked to end the file, or last sent bytes after that; `nil` before.
  private var heardAt: MonotonicInstant?
  private var progress = ProgressLine()
  private var progressAt: MonotonicInstant
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)
  /// The hub's refusal, which the hub sends in place of a recording.
  private var refusal: [UInt8] = []

  init(_ connection: consuming HubConnection, to target: RecordTarget, for duration: Duration?, signals: EndSignals) {
    self.connection = connection
    self.target = target
    self.signals = signals
    start = clock.now
    endsAt = duration.map { [start] in start + $0 }
    progressAt = start
  }

  /// The duration of the recording in seconds, until now or until the request to end it.
  var seconds: Double { ((askedAt ?? clock.now) - start).inSeconds }

  /// Receives the recording until it ends.
  ///
  /// - Throws: if the hub refuses to record for this client
  mutating func run() throws(CommandError) -> Ending {
    defer { progress.finish() }
    while true {
      let now = clock.now
      if askedAt == nil, let endsAt, now >= endsAt { ask() }
      if let heardAt, now >= heardAt + RecordReceiver.patience { return .silent }
      show(now)
      let (hasCome, isSignalled) = wait(from: now)
      if isSignalled, hear() { return .interrupted }
      guard hasCome else { continue }
      do throws(Errno) {
        let count = receive()
        guard count > 0 else { break }
        if let ending = try passOn(count) { return ending }
      } catch {
        return .failed(error)
      }
    }
    if target.byteCount == 0 { throw refused() }
    return askedAt == nil ? .closed : .asked
  }

  /// Handles a signal.
  ///
  /// - Returns: whether to stop at once, without waiting until the hub has ended the file
  private mutating func hear() -> Bool {
    guard let number = signals.next() else { return false }
    if number == SIGINT, let askedAt, clock.now >= askedAt + RecordReceiver.shortestReaction { return true }
    signalledAt = signalledAt ?? clock.now
    ask()
    return false
  }

  /// Asks the hub to end the file. Later calls do nothing.
  private mutating func ask() {
    guard askedAt == nil else { return }
    connection.endSending()
    askedAt = clock.now
    heardAt = askedAt
  }

  private mutating func show(_ now: MonotonicInstant) {
    guard progress.isShown, now >= progressAt || askedAt != nil else { return }
    progressAt = now + .seconds(1)
    let size = RecordingContents.size(target.byteCount)
    progress.show(
      askedAt == nil
        ? "\(Text.duration(seconds: seconds)), \(size); Ctrl-C ends it"
        : "\(size); waiting for the hub to end the recording; Ctrl-C stops at once, without an end record")
  }

  private func wait(from now: MonotonicInstant) -> (hasCome: Bool, isSignalled: Bool) {
    let deadline = [
      askedAt == nil ? endsAt : nil, heardAt.map { $0 + RecordReceiver.patience },
      progress.isShown && askedAt == nil ? progressAt : nil,
    ].compactMap { $0 }.min()
    var descriptors = [connection.descriptor, signals.descriptor].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    guard poll(&descriptors, 2, RecordReceiver.milliseconds(from: now, to: deadline)) > 0 else { return (false, false) }
    return (descriptors[0].revents != 0, descriptors[1].revents != 0)
  }

  /// The time until the deadline for poll(2), rounded up and at most a day; -1 without a deadline.
  private static func milliseconds(from now: MonotonicInstant, to deadline: MonotonicInstant?) -> Int32 {
    deadline.map { Int32(min(max(($0 - now).inSeconds, 0), 86_400) * 1000) + 1 } ?? -1
  }

  /// Receives bytes into `buffer`. If they are a refusal, collects them in `refusal`.
  ///
  /// - Returns: the number of bytes; 0 if the connection is closed, or if the refusal is too long
  private mutating func receive() -> Int {
    let count = buffer.withUnsafeMutableBytes { connection.receive(into: $0) }
    if count > 0, heardAt != nil { heardAt = clock.now }
    // An MCAP file never begins with `{`, so these bytes are a refusal.
    guard count > 0, target.byteCount == 0, !refusal.isEmpty || buffer[0] == UInt8(ascii: "{") else { return count }
    refusal += buffer[..<count]
    return refusal.count < 1 << 16 ? count : 0
  }

  /// Writes received bytes to the output.
  ///
  /// - Returns: how the recording ended; `nil` if it continues
  private mutating func passOn(_ count: Int) throws(Errno) -> Ending? {
    if !refusal.isEmpty { return nil }
    if target.isFile {
      try write(0..<count) { (bytes) throws(Errno) in try target.write(bytes) }
      return nil
    }
    var written = 0
    var takenAt = clock.now
    while written < count {
      let now = clock.now
      if askedAt == nil, let endsAt, now >= endsAt { ask() }
      let limit = signalledAt.map { max($0, takenAt) + RecordReceiver.readerPatience }
      if let limit, now >= limit { return .stalled(byteCount: count - written) }
      var descriptors = [
        pollfd(fd: target.descriptor, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let deadline = [limit, askedAt == nil ? endsAt : nil].compactMap { $0 }.min()
      guard poll(&descriptors, 2, RecordReceiver.milliseconds(from: now, to: deadline)) > 0 else { continue }
      if descriptors[1].revents != 0, hear() { return .interrupted }
      guard descriptors[0].revents != 0 else { continue }
      written += try write(written..<count) { (bytes) throws(Errno) in try target.writeSome(bytes) }
      takenAt = clock.now
    }
    // While this program waited to write, it did not read from the hub, so that time does not count as the hub's
    // silence.
    if heardAt != nil { heardAt = takenAt }
    return nil
  }

  private func write<Result>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Errno) -> Result
  ) throws(Errno) -> Result {
    try buffer.withUnsafeBufferPointer { (bytes) throws(Errno) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[range])))
    }
  }

  private struct Refusal: Decodable {
    var message: String
  }

  private func refused() -> CommandError {
    guard let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(refusal)) else { return .hubClosed }
    return CommandError(
      .unavailable, "the hub refused to record: \(Text.printable(refusal.message))",
      nextStep: "sensorhub devices shows the holders of each device")
  }
}
