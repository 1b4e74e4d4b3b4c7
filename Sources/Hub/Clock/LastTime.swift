import Guarding

/// The last time that receivers stated, across runs and boards.
final class LastTime: Sendable {
  private let last = Guarded<FusionKnowledge.StatedTime?>(nil)

  /// The last time that a receiver stated; `nil` if none has.
  var stated: FusionKnowledge.StatedTime? {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }
}
