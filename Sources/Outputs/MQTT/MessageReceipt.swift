import CLinux
import Glibc
import Guarding

/// Tells the publisher of one message whether the broker has it. The publisher waits for this on its own thread.
///
///     let receipt = connection.publishWithReceipt("sensorhub/boat/alarm", payload)
///     guard receipt.wait(stop: stop) == .accepted else { … }
final class MessageReceipt: Sendable {
  enum Outcome: Equatable, Sendable {
    /// The broker has the message.
    case accepted
    /// The broker refuses the message, or it cannot be sent.
    case refused(MQTTRefusal)
    /// The message was dropped, because too many waited for the broker, or because the connection has ended.
    case dropped
  }

  /// The message's side of its receipt. Once no copy of the message is left, nothing can be sent any more.
  final class Ticket: Sendable {
    private let receipt: MessageReceipt

    init(_ receipt: MessageReceipt) { self.receipt = receipt }

    deinit { receipt.settle(.dropped) }

    func settle(_ outcome: Outcome) { receipt.settle(outcome) }
  }

  private let outcome = Guarded<Outcome?>(nil)
  private let wake = WakeSignal()

  /// Only the first outcome counts.
  private func settle(_ new: Outcome) {
    outcome.withLock { $0 = $0 ?? new }
    wake.raise()
  }

  /// Blocks until the outcome is known, however long the broker cannot be reached.
  ///
  /// - Returns: `nil` if `stop` was set first
  func wait(stop: StopSignal) -> Outcome? {
    while true {
      if let outcome = outcome.withLock({ $0 }) { return outcome }
      if stop.isSet { return nil }
      var descriptors = [wake.fileDescriptor, stop.fileDescriptor].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      // Without descriptors the wait would never end, so it looks again after a while.
      poll(&descriptors, 2, descriptors.contains { $0.fd < 0 } ? 200 : -1)
    }
  }
}
