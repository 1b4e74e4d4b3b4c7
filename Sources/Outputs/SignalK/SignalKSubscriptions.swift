import FoundationEssentials
import Fusion
import Hub
import MonotonicTime

/// The subscriptions of one client. This type decides which values are due. The session holds the lease.
struct SignalKSubscriptions {
  private struct Entry {
    var pattern: String
    var paths: [SignalKPath]
    /// The time between two values of a path; for `instant`, the shortest time.
    var period: Duration
    var isInstant: Bool
    /// When the next value of each path is due; `nil` before the first.
    var due: [MonotonicInstant?]
    var sent: [MonotonicInstant?]
  }

  /// The maximum number of a client's subscriptions.
  static let limit = 64
  /// The accepted range of periods, in milliseconds. Values outside the range are set to its nearest end.
  private static let periods = 10.0...100_000.0
  private static let usualPeriod = 1000.0

  private var entries: [Entry] = []

  var isEmpty: Bool { entries.allSatisfy(\.paths.isEmpty) }

  /// The parts of the state that the subscriptions need.
  var parts: Set<StatePart> { entries.reduce(into: []) { $0.formUnion($1.paths.flatMap(\.parts)) } }

  /// The rate in hertz at which states are needed; `nil` if a subscription needs every state.
  var rateHz: Double? {
    let wanted = entries.filter { !$0.paths.isEmpty }
    if wanted.contains(where: { $0.isInstant && $0.period == .zero }) { return nil }
    return wanted.map { 1 / $0.period.inSeconds }.max()
  }

  /// Adds a subscription. It replaces an earlier one with the same pattern.
  ///
  /// - Returns: the paths that no earlier subscription matches; `nil` if there are too many subscriptions
  mutating func add(_ subscription: SignalKRequests.Subscription) -> [SignalKPath]? {
    let known = Set(entries.flatMap(\.paths))
    let isInstant = subscription.policy == .instant
    let milliseconds = isInstant ? subscription.minPeriod : subscription.period ?? SignalKSubscriptions.usualPeriod
    let period = milliseconds.map { value in
      let range = SignalKSubscriptions.periods
      return Duration.microseconds(Int64(1000 * min(max(value, range.lowerBound), range.upperBound)))
    }
    let paths = SignalKPath.allCases.filter { $0.matches(subscription.path) }
    let entry = Entry(
      pattern: subscription.path, paths: paths, period: period ?? .zero, isInstant: isInstant,
      due: Array(repeating: nil, count: paths.count), sent: Array(repeating: nil, count: paths.count))
    entries.removeAll { $0.pattern == subscription.path }
    guard entries.count < SignalKSubscriptions.limit else { return nil }
    entries.append(entry)
    return paths.filter { !known.contains($0) }
  }

  /// Removes subscriptions.
  ///
  /// - Parameter pattern: a subscription's pattern, or `*` for all
  mutating func remove(_ pattern: String) { entries.removeAll { pattern == "*" || $0.pattern == pattern } }

  /// Takes the due values of a state, each path once.
  ///
  /// - Parameter lastKnown: the last known position
  mutating func take(
    _ state: FusedState, lastKnown: FusedState.Position? = nil
  ) -> [(path: SignalKPath, value: SignalKValue)] {
    var values: [(path: SignalKPath, value: SignalKValue)] = []
    for index in entries.indices { SignalKSubscriptions.take(state, lastKnown, &entries[index], &values) }
    return values
  }

  private static func take(
    _ state: FusedState, _ lastKnown: FusedState.Position?, _ entry: inout Entry,
    _ values: inout [(path: SignalKPath, value: SignalKValue)]
  ) {
    for (index, path) in entry.paths.enumerated() {
      guard entry.due[index].map({ state.at >= $0 }) ?? true,
        let value = path.value(of: state, lastKnown: lastKnown)
      else { continue }
      if entry.isInstant, value.at == entry.sent[index] { continue }
      entry.sent[index] = value.at
      if entry.period > .zero {
        // States do not arrive exactly on time. A late state must not delay those after it.
        let grid = (entry.due[index] ?? state.at) + entry.period
        let next = grid > state.at ? grid : state.at + entry.period
        entry.due[index] = max(next, state.at + entry.period / 4)
      }
      if !values.contains(where: { $0.path == path }) { values.append((path, value)) }
    }
  }
}

/// Cuts the bytes of a Signal K client into messages, one JSON object per line, and reads its subscriptions:
/// `{"context": "vessels.self", "subscribe": [{"path": "navigation.*", "period": 1000}]}`.
struct SignalKRequests {
  /// When a value is sent: `ideal` and `fixed` send it once a period, `instant` with each change.
  enum Policy: String, Decodable { case instant, ideal, fixed }

  struct Subscription: Decodable, Equatable {
    var path: String
    var period: Double?
    var minPeriod: Double?
    var policy: Policy?
    var format: String?
  }

  struct Message: Decodable {
    struct Path: Decodable { var path: String }

    var context: String?
    var subscribe: [Subscription]?
    var unsubscribe: [Path]?
  }

  enum Line {
    case message(Message)
    /// The message is wrong; the text says why.
    case refused(String)
  }

  /// The longest message in bytes. It has room for many paths.
  static let maximumLength = 16 << 10

  private var pending: [UInt8] = []

  /// Takes the next bytes.
  ///
  /// - Returns: the messages that they complete
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Line] {
    pending += bytes
    var lines = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    pending = Array(lines.removeLast())
    var messages = lines.map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }.filter { !$0.isEmpty }.map {
      SignalKRequests.read($0)
    }
    if pending.count > SignalKRequests.maximumLength {
      pending = []
      messages.append(.refused("a message must be shorter than \(SignalKRequests.maximumLength) bytes"))
    }
    return messages
  }

  private static func read(_ line: ArraySlice<UInt8>) -> Line {
    guard let message = try? JSONDecoder().decode(Message.self, from: Data(line)) else {
      return .refused(
        "send one JSON object per line, such as "
          + #"{"context":"vessels.self","subscribe":[{"path":"navigation.position","period":1000}]}, with the policy "#
          + "instant, ideal or fixed")
    }
    if let format = message.subscribe?.lazy.compactMap(\.format).first(where: { $0 != "delta" }) {
      return .refused("the format '\(Text.printable(String(format.prefix(20))))' is not served: use delta")
    }
    return .message(message)
  }
}
