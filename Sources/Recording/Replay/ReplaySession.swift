import CLinux
import Guarding
import Hub
import MonotonicTime
import Publishing
import Synchronization

/// A replay that a user controls: it can be paused, played step by step, and moved to another time.
///
/// A separate thread plays messages to the hub, and advances the hub's clock between them.
public final class ReplaySession: Sendable {
  public enum Event: Sendable {
    /// A period without recorded data, which is skipped.
    case skipped(Duration)
    /// The replay has reached the end of the recording.
    case over
    /// Reading the recording failed.
    case failed(String)
  }

  public struct Status: Equatable, Sendable {
    /// The UTC of the last played message, nanoseconds since 1970.
    public var nanosecondsSince1970: Int64
    /// The period that can be played, nanoseconds since 1970.
    public var times: ClosedRange<Int64>
    public var rate: Double
    public var isPaused: Bool
    /// Whether the replay waits at its end.
    public var isOver: Bool
  }

  private struct State {
    var status: Status
    /// The time up to which a paused replay plays.
    var stepsUntil: Int64?
    var seeksTo: Int64?
    var isEnding = false

    mutating func seek(to time: Int64) {
      let time = min(max(time, status.times.lowerBound), status.times.upperBound)
      seeksTo = time
      stepsUntil = nil
      status.nanosecondsSince1970 = time
      status.isOver = false
    }
  }

  private struct Opening: Sendable {
    let open: @Sendable (_ from: Int64?) throws -> any ReplaySource
  }

  private struct Report: Sendable { let send: @Sendable (Event) -> Void }

  /// The longest silence that is played in full. A longer one is skipped up to `restOfSilence` before its end.
  private static let longestSilence = Duration.seconds(5)
  private static let restOfSilence = Duration.seconds(1)
  /// The interval at which the hub's clock advances while there are no messages.
  private static let tick = Duration.milliseconds(50)

  private let stage: ReplayStage
  private let opening: Opening
  private let staysAtEnd: Bool
  private let report: Report
  private let state: Guarded<State>
  private let wake = WakeSignal()
  private let clock = MonotonicClock()

  /// - Parameters:
  ///   - times: the recorded period, nanoseconds since 1970
  ///   - staysAtEnd: whether the replay waits at its end for a jump to another time
  ///   - open: opens the recording at a time, or at its beginning
  ///   - report: called on the thread that plays
  public init(
    on stage: ReplayStage, times: ClosedRange<Int64>, rate: Double, staysAtEnd: Bool,
    open: @escaping @Sendable (_ from: Int64?) throws -> any ReplaySource, report: @escaping @Sendable (Event) -> Void
  ) {
    self.stage = stage
    self.staysAtEnd = staysAtEnd
    opening = Opening(open: open)
    self.report = Report(send: report)
    state = Guarded(
      State(
        status: Status(
          nanosecondsSince1970: times.lowerBound, times: times, rate: rate, isPaused: false, isOver: false)))
  }

  public var status: Status { state.withLock { $0.status } }

  /// Starts the thread.
  ///
  /// - Returns: 0, or the error number if the system cannot start one
  public func start() -> Int32 { DetachedThread.start("replay") { self.run() } }

  // MARK: Control

  /// Changes the replay. Changes in one call take effect together.
  ///
  /// - Parameters:
  ///   - rate: recorded seconds per second
  ///   - time: the time to jump to, nanoseconds since 1970; the hub starts again there
  ///   - isPaused: whether to pause the replay
  ///   - step: plays for this duration, and then pauses
  public func change(rate: Double? = nil, to time: Int64? = nil, isPaused: Bool? = nil, step: Duration? = nil) {
    change { state in
      if let rate { state.status.rate = rate }
      if let time { state.seek(to: time) }
      if let isPaused {
        state.status.isPaused = isPaused
        state.stepsUntil = nil
      }
      if let step {
        state.status.isPaused = true
        state.stepsUntil = (state.stepsUntil ?? state.status.nanosecondsSince1970).clampedSum(step.inNanoseconds)
      }
    }
  }

  /// Ends the replay permanently.
  public func end() { change { $0.isEnding = true } }

  private func change(_ change: (inout State) -> Void) {
    state.withLock { change(&$0) }
    wake.raise()
  }

  // MARK: The thread

  private enum Step { case play, wait(Duration), seek(Int64), end }

  private func run() {
    var player = ReplayPlayer(on: stage)
    var start: Int64?
    while let next = play(from: start, &player) {
      start = next
    }
    player.end()
  }

  /// Plays until a jump is requested.
  ///
  /// - Returns: the time of the jump; `nil` at the end
  private func play(from start: Int64?, _ player: inout ReplayPlayer) -> Int64? {
    do {
      var source = try opening.open(start)
      var isAnew = start != nil
      var playback = PlaybackRate(at: clock.now)
      while var message = try source.next() {
        if let start, message.utcNanosecondsSince1970 < start {
          if let nextStep = interruption() { return nextStep }
          continue
        }
        if isAnew { message.beginsRecording = true }
        isAnew = false
        switch waitFor(message, player, &playback) {
        case .end: return nil
        case .seek(let time): return time
        case .play, .wait: break
        }
        player.play(message)
        state.withLock { state in
          if state.seeksTo == nil { state.status.nanosecondsSince1970 = message.utcNanosecondsSince1970 }
        }
      }
      state.withLock { $0.status.isOver = true }
      report.send(.over)
    } catch {
      report.send(.failed("\(error)"))
    }
    return staysAtEnd ? waitForSeek() : nil
  }

  /// Checks for a new request. A request must be able to interrupt the search for a time in the recording, because the
  /// search may take long.
  ///
  /// - Returns: `nil` to continue; `.some(nil)` to end the replay; otherwise the time to jump to
  private func interruption() -> Int64?? {
    state.withLock { state in
      if state.isEnding { return .some(nil) }
      guard let time = state.seeksTo else { return nil }
      state.seeksTo = nil
      return .some(time)
    }
  }

  private func waitFor(_ message: ReplayedMessage, _ player: ReplayPlayer, _ playback: inout PlaybackRate) -> Step {
    while true {
      let isRunning = state.withLock { !$0.status.isPaused || $0.stepsUntil != nil }
      playback.advance(to: clock.now, rate: isRunning ? state.withLock { $0.status.rate } : 0)
      player.pass(playback.take(player.time(until: message)), before: message)
      let left = player.time(until: message)
      switch state.withLock({ (state) -> Step in nextStep(&state, message, left) }) {
      case .wait(let real): wait(atMost: real)
      case .play:
        guard left > ReplaySession.longestSilence else { return .play }
        let skipped = left - ReplaySession.restOfSilence
        player.pass(skipped, before: message)
        report.send(.skipped(skipped))
      case .seek(let time): return .seek(time)
      case .end: return .end
      }
    }
  }

  private func nextStep(_ state: inout State, _ message: ReplayedMessage, _ left: Duration) -> Step {
    if state.isEnding { return .end }
    if let time = state.seeksTo {
      state.seeksTo = nil
      return .seek(time)
    }
    if state.status.isPaused {
      guard let until = state.stepsUntil else { return .wait(.seconds(3600)) }
      guard message.utcNanosecondsSince1970 <= until else {
        // The next step continues from here, even if no message follows for a long time.
        state.status.nanosecondsSince1970 = max(state.status.nanosecondsSince1970, until)
        state.stepsUntil = nil
        return .wait(.seconds(3600))
      }
    }
    // Do not wait for a distant message: the silence before it is skipped.
    if left <= .zero || left > ReplaySession.longestSilence { return .play }
    return .wait(min(left / state.status.rate, ReplaySession.tick))
  }

  private func waitForSeek() -> Int64? {
    while true {
      let (isEnding, time) = state.withLock { state in
        defer { state.seeksTo = nil }
        return (state.isEnding, state.seeksTo)
      }
      if isEnding { return nil }
      if let time { return time }
      wake.wait()
    }
  }

  private func wait(atMost duration: Duration) {
    var wait = pollfd(fd: wake.fileDescriptor, events: Int16(POLLIN), revents: 0)
    // Round the wait up, because a wait of zero would make a busy loop.
    if poll(&wait, 1, Int32(clamping: Int64(duration.inSeconds * 1000) + 1)) > 0 { wake.clear() }
  }
}

/// The environment of a hub that plays recordings: it has the recordings' clocks, and no devices.
public final class ReplayStage: Sendable {
  /// The hub's machine, whose clocks show the time of the played message.
  public let machine: Machine
  let clock: ManualClock
  let feed: ReplayFeed
  let board: MutableProperty<Board>
  private let system: SystemTime

  private final class SystemTime: Sendable {
    /// The offset from the hub's clock to the system time, in nanoseconds.
    let offsetNanoseconds = Atomic<Int64>(0)
  }

  /// - Parameters:
  ///   - first: the message that will be played first
  ///   - board: the first board
  ///   - isLog: whether the source is a log of a receiver, which lacks the inputs of the fusion
  public init(first: ReplayedMessage, board: Board, isLog: Bool = false) {
    let clock = ManualClock(now: first.at)
    let feed = ReplayFeed(hasInputs: !isLog)
    self.feed = feed
    let system = SystemTime()
    self.clock = clock
    self.system = system
    self.board = MutableProperty(board)
    machine = Machine(
      replaying: feed, clock: clock,
      systemTime: { clock.now.nanoseconds &+ system.offsetNanoseconds.load(ordering: .relaxed) })
  }

  /// The board at the played time. A new board must be in service at the hub before anything else is played.
  public var boards: Property<Board> { board.readOnly }

  var systemTimeOffsetNanoseconds: Int64 { system.offsetNanoseconds.load(ordering: .relaxed) }

  func setSystemTime(_ nanosecondsSince1970: Int64) {
    system.offsetNanoseconds.store(nanosecondsSince1970 &- clock.now.nanoseconds, ordering: .relaxed)
  }
}
