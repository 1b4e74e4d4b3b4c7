import Guarding

/// The last time that the receivers stated, from run to run and from board to board.
final class LastTime: Sendable {
  private let last = Guarded<FusionKnowledge.StatedTime?>(nil)

  /// The known time; `nil` if there is none.
  var stated: FusionKnowledge.StatedTime? {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }
}
