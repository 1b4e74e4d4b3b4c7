import Fusion
import MonotonicTime

/// Makes the deltas for one connection to a Signal K server. It decides which values are due, and describes each path
/// once before its first value.
struct SignalKSender {
  /// The server's own vessel, whatever its name.
  private static let context = "vessels.self"
  /// The shortest times between two values of a path. They are slightly shorter than a second and a fifth of a second,
  /// so that a state that comes slightly early is sent too.
  private static let usualPeriod = 950.0
  private static let shortPeriod = 190.0
  /// The rate of states that `shortPeriod` needs, in hertz.
  static let rateHz = 5.0

  private var subscriptions = SignalKSubscriptions()
  private var described: Set<SignalKPath> = []

  init() {
    for path in SignalKPath.allCases {
      let period = path.changesFast ? SignalKSender.shortPeriod : SignalKSender.usualPeriod
      let subscription = SignalKRequests.Subscription(path: path.rawValue, minPeriod: period, policy: .instant)
      _ = subscriptions.add(subscription)
    }
  }

  /// The messages for a state. Each ends with CR and LF, which JSON allows.
  ///
  /// - Parameter lastKnown: the last known position
  mutating func messages(of state: FusedState, lastKnown: FusedState.Position?) -> [[UInt8]] {
    let values = subscriptions.take(state, lastKnown: lastKnown)
    guard !values.isEmpty else { return [] }
    var messages: [[UInt8]] = []
    var json = JSONWriter(capacity: 1024)
    json.lineEnd = "\r\n"
    let new = values.map(\.path).filter { !described.contains($0) }
    if !new.isEmpty {
      described.formUnion(new)
      SignalKDelta.writeMeta(new, context: SignalKSender.context, to: &json)
      messages.append(Array(json.bytes))
      json.removeAll()
    }
    SignalKDelta.write(values, of: state, context: SignalKSender.context, to: &json)
    messages.append(Array(json.bytes))
    return messages
  }
}

extension SignalKPath {
  /// Whether displays and autopilots need more than one value a second.
  fileprivate var changesFast: Bool {
    switch self {
    case .headingTrue, .headingMagnetic, .attitude, .rateOfTurn: true
    default: false
    }
  }
}
