import Devices
import Fusion
import Hub
import MonotonicTime
import Publishing

/// Plays recorded messages to a hub as if they happened now. For each message it sets the hub's clocks to the message's
/// time and delivers the message. The inputs of the fusion go to the hub's `FusionLog` with their original instants.
///
/// Everything runs on the caller's thread, including the clock's scheduled actions, so the same messages produce the
/// same states, byte for byte.
public struct ReplayPlayer {
  private struct Device {
    var kind: DeviceStatus.Kind
    var isSupplied: Bool
    var isHeld: Bool

    /// Whether a client needs the fusion for this device. A supply monitor may be held only to measure the energy of
    /// other devices.
    var isReasonToFuse: Bool { isHeld && kind != .supplyMonitor }
  }

  /// The present run of the fusion.
  private enum Run {
    case none
    case recorded
    /// A run that the recording does not have. Its measurements were not fused when they were recorded, because no
    /// client needed the fusion. A replay fuses and shows them.
    case own
  }

  /// A measurement begins a run of its own only if it comes more than this time after the end of the previous run.
  private static let pause = Duration.seconds(1)

  private let stage: ReplayStage
  /// The offset from message times to the hub's clock. The hub's clock never goes back, but the monotonic clock of a
  /// recording begins again with each start of a board, and the time between two starts is unknown.
  private var shiftNanoseconds: Int64 = 0
  /// How far the system clock was ahead of the recording's clock at the played time.
  private var systemAheadNanoseconds: Int64 = 0
  /// The devices that have appeared in played messages, by ID.
  private var devices: [String: Device] = [:]
  private var run = Run.none
  private var lastRunEndedAt: MonotonicInstant?

  public init(on stage: ReplayStage) { self.stage = stage }

  private var clock: ManualClock { stage.clock }
  private var feed: ReplayFeed { stage.feed }

  /// The time until a message is due, by the hub's clock.
  public func time(until message: ReplayedMessage) -> Duration { instant(of: message) - clock.now }

  /// Advances the hub's clock without a message, at most to the message's time.
  public func pass(_ duration: Duration, before message: ReplayedMessage) {
    clock.run(until: min(clock.now + duration, instant(of: message)))
  }

  private func instant(of message: ReplayedMessage) -> MonotonicInstant {
    // The time between two recordings is skipped.
    message.beginsRecording ? clock.now : message.at + .nanoseconds(shiftNanoseconds)
  }

  /// Sets the clocks to a message's time and delivers the message.
  public mutating func play(_ message: ReplayedMessage) {
    if message.beginsRecording { begin(at: message) }
    clock.run(until: instant(of: message))
    if case .clock(let ahead) = message.content { systemAheadNanoseconds = ahead }
    stage.setSystemTime(message.systemNanosecondsSince1970.clampedSum(systemAheadNanoseconds))
    let content = message.content.shifted(by: .nanoseconds(shiftNanoseconds))
    switch content {
    case .power(let kind, let isSupplied, let isHeld):
      note(Device(kind: kind, isSupplied: isSupplied, isHeld: isHeld), message.device)
    case .board(let board): if stage.board.value != board { stage.board.value = board }
    case .clock: break
    case .begin, .end, .expiry: fuse(message, content)
    default:
      // A device that was on before the recording began has no message until its power changes. Its power message may
      // also come after its first measurement.
      if devices[message.device]?.isSupplied != true, let kind = message.content.kind {
        note(Device(kind: kind, isSupplied: true, isHeld: true), message.device)
      }
      hand(content, to: message.device)
      fuse(message, content)
    }
  }

  private mutating func note(_ device: Device, _ id: String) {
    devices[id] = device
    if case .own = run, !devices.values.contains(where: \.isReasonToFuse) { apply(.end, at: clock.now) }
    feed.set(isSupplied: device.isSupplied, device.kind, id)
  }

  // MARK: The inputs of the fusion

  private mutating func fuse(_ message: ReplayedMessage, _ content: ReplayedMessage.Content) {
    guard let input = input(of: message, content) else { return }
    switch input {
    case .begin: run = .recorded
    // Neither is a measurement, so neither begins a run.
    case .end, .expiry: break
    default:
      guard case .none = run else { break }
      guard lastRunEndedAt.map({ instant(of: message) - $0 > ReplayPlayer.pause }) ?? true else { break }
      apply(.begin(FusionKnowledge()), at: instant(of: message))
      run = .own
    }
    apply(input, at: instant(of: message))
  }

  private mutating func apply(_ input: FusionInput, at instant: MonotonicInstant) {
    if case .end = input {
      run = .none
      lastRunEndedAt = instant
    }
    feed.log?.apply(input, at: instant)
  }

  /// A message as an input of the fusion; `nil` if the message is no input, or the board does not have its device.
  private func input(of message: ReplayedMessage, _ content: ReplayedMessage.Content) -> FusionInput? {
    let board = stage.board.value
    let place = board.devices.firstIndex { $0.id == message.device }
    switch content {
    case .begin(var knowledge, let source):
      var ids = board.devices.map(\.id)
      knowledge.position?.source = DeviceNames.set(of: source, in: &ids)
      return .begin(knowledge)
    case .end: return .end
    case .expiry: return .expiry
    case .epoch(let epoch): return place.map { .epoch($0, epoch) }
    case .batch(let batch): return place.map { .imu($0, batch) }
    case .magneticField(let sample): return place.map { .field($0, sample) }
    case .air(let sample): return place.map { .air($0, sample) }
    case .supply(let sample): return place.map { .supply($0, sample) }
    case .sentences, .power, .clock, .board: return nil
    }
  }

  // MARK: The devices

  private func hand(_ content: ReplayedMessage.Content, to id: String) {
    switch content {
    case .sentences(let sentences): feed.receiver(id).send(sentences)
    case .batch(let batch): feed.imu(id).send(batch)
    case .magneticField(let sample): feed.magnetometer(id).send(sample)
    case .air(let sample): feed.barometer(id).send(sample)
    case .supply(let sample): feed.supplyMonitor(id).send(sample)
    case .epoch, .begin, .end, .expiry, .power, .clock, .board: break
    }
  }

  /// Ends the replay. All devices are then off.
  public mutating func end() {
    // Run for one more second, so that a subscriber that collects the values of an interval still receives them.
    clock.run(until: clock.now + .seconds(1))
    switchOff()
  }

  private mutating func begin(at message: ReplayedMessage) {
    switchOff()
    feed.begin()
    let instant = message.at + .nanoseconds(shiftNanoseconds)
    let offset = message.systemNanosecondsSince1970 &- instant.nanoseconds
    func isOffset(_ other: Int64) -> Bool { (offset &- other).magnitude < 1_000_000_000 }
    let before = stage.systemTimeOffsetNanoseconds
    let isSame = isOffset(before &- systemAheadNanoseconds)
    // If the hub or the machine was restarted in between, the earlier difference between the clocks no longer applies.
    if !isSame { systemAheadNanoseconds = 0 }
    // The message is from the same recording and not earlier, so the clock may just advance to it.
    if instant >= clock.now, isSame || isOffset(before) {
      clock.run(until: instant)
    } else {
      shiftNanoseconds = clock.now.nanoseconds &- message.at.nanoseconds
    }
  }

  private mutating func switchOff() {
    if case .none = run {} else { apply(.end, at: clock.now) }
    lastRunEndedAt = nil
    for (id, device) in devices.sorted(by: { $0.key < $1.key }) {
      feed.set(isSupplied: false, device.kind, id)
    }
    devices = [:]
  }
}

/// The source of a replay: recorded messages in the order of their times.
public protocol ReplaySource {
  /// The next message; `nil` at the end.
  mutating func next() throws -> ReplayedMessage?
}

/// Limits how much of a recording may be played, by the real time that has passed.
struct PlaybackRate {
  /// The maximum backlog, in real time. If the thread was delayed for longer, the replay makes up for only this much of
  /// the delay.
  private static let mostOwed = Duration.seconds(1)

  private var last: MonotonicInstant
  private var owed = Duration.zero

  init(at now: MonotonicInstant) { last = now }

  /// Adds the time since the last call to the backlog.
  ///
  /// - Parameter rate: recorded seconds per second; 0 while paused
  mutating func advance(to now: MonotonicInstant, rate: Double) {
    owed = rate > 0 ? min(owed + (now - last) * rate, PlaybackRate.mostOwed * max(rate, 1)) : .zero
    last = now
  }

  /// The part of a duration that may be played now. It is taken from the backlog.
  mutating func take(_ duration: Duration) -> Duration {
    let taken = max(.zero, min(owed, duration))
    owed -= taken
    return taken
  }
}
