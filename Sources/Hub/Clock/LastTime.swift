import Guarding

/// The last time that receivers stated, across runs and boards.
final class LastTime: Sendable {
  private let last = Guarded<FusionKnowledge.StatedTime?>(nil)

  /// The known time; `nil` if there is none.
  var stated: FusionKnowledge.StatedTime? {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }
}
