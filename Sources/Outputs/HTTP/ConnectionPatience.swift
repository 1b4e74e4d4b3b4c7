import MonotonicTime
import NIOCore

/// Decides how long a connection of the web port may be idle.
///
/// An answer may take any time: what matters is whether the client has taken any of it recently. A connection that
/// sends no request, or does not finish one, is closed once it has been silent for long enough.
struct ConnectionPatience {
  struct Limits: Sendable {
    /// Without a request, or without another piece of one that has begun.
    var silence = TimeAmount.seconds(30)
    /// Without a byte taken of an answer.
    var answer = TimeAmount.seconds(30)
    /// Without a byte taken of an event stream: devices are awake for it, and it comes back by itself.
    var stream = TimeAmount.nanoseconds(StreamConnection.patience.inNanoseconds)
  }

  /// The bytes that wait to be sent, and those that the client has taken so far.
  struct Outgoing: Equatable {
    var takenCount = 0
    var waitingCount = 0
    /// The answer has no end.
    var isStream = false
  }

  enum Verdict: Equatable {
    /// Nothing is wrong, and nothing can be before then; `nil` while the answer is still being made.
    case goesOn(until: NIODeadline?)
    /// It asks for nothing.
    case isSilent
    /// It takes nothing of its answer.
    case isStalled
  }

  let limits: Limits
  /// Requests that have not been answered to their end.
  private var requestCount = 0
  private var isBeingAsked = false
  /// When the last piece of a request came, or the last of an answer was gone.
  private var quietSince: NIODeadline
  /// As of the last look; `nil` where nothing waited then.
  private var stuck: (takenCount: Int, since: NIODeadline)?

  init(_ limits: Limits, at now: NIODeadline) {
    self.limits = limits
    quietSince = now
  }

  /// A piece of a request has come.
  mutating func heard(isHead: Bool, isEnd: Bool, at now: NIODeadline) {
    if isHead { requestCount += 1 }
    isBeingAsked = !isEnd
    quietSince = now
  }

  /// The last piece of an answer has been written. It may have to wait for a long time before it is sent.
  mutating func answered() { requestCount -= 1 }

  /// To be asked at the latest when the verdict before said, and whenever something begins to wait.
  mutating func verdict(on outgoing: Outgoing, at now: NIODeadline) -> Verdict {
    if outgoing.waitingCount > 0 {
      let since = stuck.flatMap { $0.takenCount == outgoing.takenCount ? $0.since : nil } ?? now
      stuck = (outgoing.takenCount, since)
      let limit = outgoing.isStream ? limits.stream : limits.answer
      if now - since >= limit { return .isStalled }
      // Whether anything has been taken shows when it is looked for.
      return .goesOn(until: min(since + limit, now + .nanoseconds(limit.nanoseconds / 4)))
    }
    if stuck != nil {
      stuck = nil
      quietSince = now
    }
    if requestCount > 0, !isBeingAsked { return .goesOn(until: nil) }
    let end = quietSince + limits.silence
    return now >= end ? .isSilent : .goesOn(until: end)
  }
}
