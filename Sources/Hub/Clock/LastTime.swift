import Guarding

/// The UTC time that a receiver reported most recently. It outlives a reload of the board file, because the new hub
/// takes it from the old one.
final class LastTime: Sendable {
  private let last = Guarded<FusionKnowledge.StatedTime?>(nil)

  /// The reported time and its instant; `nil` if no receiver has reported a time.
  var stated: FusionKnowledge.StatedTime? {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }
}
