import Devices
import Guarding
import Publishing

/// A receiver's identity across all its runs, from its answers and its regular output.
final class ReceiverIdentification: Sendable {
  private struct Known {
    var answered: ReceiverIdentity?
    var heard = ReceiverIdentity.Speech()
  }

  private let known = Guarded(Known())
  private let property = MutableProperty<ReceiverIdentity?>(nil)

  var present: Property<ReceiverIdentity?> { property.readOnly }

  /// Processes the receiver's answer to a request for its identity; `nil` if it did not answer, or was replaced.
  func answered(_ identity: ReceiverIdentity?) {
    change { known in
      // An answer that contradicts the earlier output comes from another receiver.
      if identity?.driver != known.heard.driver { known.heard = .init() }
      known.answered = identity
    }
  }

  /// Processes further regular output.
  func heard(_ speech: ReceiverIdentity.Speech) {
    guard speech.driver != nil, known.withLock({ $0.heard != speech }) else { return }
    change { $0.heard = speech }
  }

  private func change(_ change: (inout Known) -> Void) {
    let mustDeliver = known.withLock { known in
      let before = ReceiverIdentity.of(known.answered, heard: known.heard)
      change(&known)
      let after = ReceiverIdentity.of(known.answered, heard: known.heard)
      return before != after && property.stage(after)
    }
    if mustDeliver { property.deliver() }
  }
}
