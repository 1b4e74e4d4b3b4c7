import MonotonicTime

/// Decides whether a hub removes its messages under an earlier name at a broker, by the status that the broker has
/// under that name.
struct FormerNames {
  private enum Name {
    /// The retained status under the name has been `online` since this time. The broker may not have detected yet that
    /// the hub's last run has ended.
    case online(since: MonotonicInstant)
    /// The name belongs to another hub, or the broker has no messages under it.
    case givenUp
  }

  enum Decision {
    case wait
    /// Another hub uses the name, or the broker has no messages under it.
    case forget
    /// The messages under the name are this hub's, and must be removed.
    case clear
  }

  private var names: [String: Name] = [:]

  /// - Parameter absence: a time after which the broker has certainly noticed the end of this hub's last run
  mutating func take(
    _ status: [UInt8], isRetained: Bool, of name: String, at now: MonotonicInstant, absence: Duration
  ) -> Decision {
    let isOnline = status == Array("online".utf8)
    let known = names[name]
    if case .givenUp = known { return status.isEmpty ? .forget : .wait }
    if isOnline, isRetained {
      if known == nil { names[name] = .online(since: now) }
      return .wait
    }
    names[name] = .givenUp
    // A hub that appears now is another hub. So is one that leaves long after the broker must have noticed the end of
    // this hub's last run.
    if case .online(let since) = known, now - since > absence { return .forget }
    if isOnline || status.isEmpty { return .forget }
    return status == Array("offline".utf8) ? .clear : .wait
  }
}
