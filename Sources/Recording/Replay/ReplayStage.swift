import Hub
import MonotonicTime
import Publishing
import Synchronization

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
