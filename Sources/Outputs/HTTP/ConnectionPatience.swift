import MonotonicTime
import NIOCore

/// Decides how long a connection of the web port may be idle.
///
/// An answer may take any time, as long as the client keeps taking bytes of it. A connection that sends no request, or
/// does not finish one, is closed when it has been silent for `Limits.silence`.
struct ConnectionPatience {
  struct Limits: Sendable {
    /// The limit without a request, or without another piece of an incomplete request.
    var silence = TimeAmount.seconds(30)
    /// The limit for an answer while the client reads no byte of it.
    var answer = TimeAmount.seconds(30)
    /// The limit for an event stream while the client reads no byte of it. The stream keeps devices awake, so it must
    /// end; its client reconnects by itself.
    var stream = TimeAmount.nanoseconds(StreamConnection.patience.inNanoseconds)
  }

  /// The number of bytes that wait to be sent, and of bytes that the client has taken.
  struct Outgoing: Equatable {
    var takenCount = 0
    var waitingCount = 0
    /// Whether the answer is an event stream, which has no end.
    var isStream = false
  }

  enum Verdict: Equatable {
    /// The connection must be checked again at this time; `nil` while the hub has not completed the answer.
    case goesOn(until: NIODeadline?)
    /// The client sends no request.
    case isSilent
    /// The client does not read its answer.
    case isStalled
  }

  let limits: Limits
  /// The number of requests without a complete answer.
  private var requestCount = 0
  private var isBeingAsked = false
  /// When the last piece of a request arrived, or when a check found that all bytes that had waited were sent.
  private var quietSince: NIODeadline
  /// The number of bytes that the client had taken at the last check, and the time since which this number has not
  /// grown; `nil` if no bytes waited at that check.
  private var stuck: (takenCount: Int, since: NIODeadline)?

  init(_ limits: Limits, at now: NIODeadline) {
    self.limits = limits
    quietSince = now
  }

  /// Records that a piece of a request has arrived.
  mutating func heard(isHead: Bool, isEnd: Bool, at now: NIODeadline) {
    if isHead { requestCount += 1 }
    isBeingAsked = !isEnd
    quietSince = now
  }

  /// Records that the last piece of an answer has been written. The piece may still wait long until it is sent.
  mutating func answered() { requestCount -= 1 }

  /// Decides about the connection. Call this at the time that the previous verdict names, and whenever bytes begin to
  /// wait.
  mutating func verdict(on outgoing: Outgoing, at now: NIODeadline) -> Verdict {
    if outgoing.waitingCount > 0 {
      let since = stuck.flatMap { $0.takenCount == outgoing.takenCount ? $0.since : nil } ?? now
      stuck = (outgoing.takenCount, since)
      let limit = outgoing.isStream ? limits.stream : limits.answer
      if now - since >= limit { return .isStalled }
      // No event shows that the client has taken bytes, so there are four checks within the limit.
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
