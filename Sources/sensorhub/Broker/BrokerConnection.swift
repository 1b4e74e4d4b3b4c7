import CLinux
import Guarding
import Hub
import MonotonicTime
import Outputs
import Glibc

/// A command's connection to a broker. The command takes its messages one by one.
final class BrokerConnection {
  struct Message: Sendable {
    var topic: String
    var payload: [UInt8]
  }

  enum Event: Sendable {
    case connected
    case message(Message)
    /// No message arrived in time.
    case late
  }

  private final class Inbox: Sendable {
    let state = Guarded(BrokerInbox())
    let wake = WakeSignal()

    func add(_ event: MQTTConnection.Event) {
      state.withLock { $0.add(event) }
      wake.raise()
    }
  }

  let broker: BrokerAddress
  private let connection: MQTTConnection
  private let inbox = Inbox()
  private var hasConnected = false

  init(_ options: MQTTOptions) throws {
    if MQTTError.isLibraryMissing { throw CommandError(.unavailable, MQTTError.missingLibrary.description) }
    broker = options.broker
    connection = MQTTConnection(options)
    do throws(MQTTError) {
      try connection.start { [inbox] in inbox.add($0) }
    } catch {
      throw CommandError(.unavailable, error.description)
    }
  }

  func retain(_ topic: String, _ text: String, expirySeconds: UInt32) {
    connection.retain(topic, Array(text.utf8), expirySeconds: expirySeconds)
  }

  /// The next event. If the broker cannot be reached at first, this throws. If the connection is lost later, this
  /// prints the loss and keeps waiting.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit
  func next(by deadline: MonotonicInstant?) throws -> Event {
    while true {
      let (event, lostCount) = inbox.state.withLock { $0.next() }
      if lostCount > 0 {
        Terminal.standardError(
          "\(lostCount) messages of \(broker) are lost: they arrived faster than this program reads them")
      }
      guard let event else {
        guard wait(until: deadline) else { return .late }
        continue
      }
      switch event {
      case .connected:
        hasConnected = true
        return .connected
      case .received(let topic, let payload, _, _): return .message(Message(topic: topic, payload: payload))
      case .disconnected(let loss):
        guard hasConnected else {
          throw CommandError(
            .unavailable, "cannot reach \(broker): \(loss.reason)",
            nextStep: loss.nextStep ?? "check that a broker runs there, and that it accepts your connection")
        }
        Terminal.standardError("lost the connection to \(broker), trying again: \(loss)")
      case .refused(let reason):
        throw CommandError(
          .noPermission, "\(broker) does not permit this: \(reason)", nextStep: "check the broker's access list")
      case .answered, .leftOut: break
      case .notTaken(let refusal): throw CommandError(.noPermission, "\(broker) does not accept \(refusal)")
      case .ended: throw CommandError(.unavailable, "the connection is closed")
      }
    }
  }

  /// Waits for an event.
  ///
  /// - Returns: `false` if the deadline has passed
  private func wait(until deadline: MonotonicInstant?) -> Bool {
    guard let deadline else {
      inbox.wake.wait()
      return true
    }
    let left = (deadline - MonotonicClock().now).inSeconds
    guard left > 0 else { return false }
    var descriptor = pollfd(fd: inbox.wake.fileDescriptor, events: Int16(POLLIN), revents: 0)
    if poll(&descriptor, 1, Int32(min(left, 86400) * 1000) + 1) > 0 { inbox.wake.clear() }
    return true
  }

  /// Waits for the connection, and passes the broker's retained messages to `take`.
  func takeRetained(_ take: (Message) -> Void) throws {
    let clock = MonotonicClock()
    // Wait until the connection is made. `next` throws if the broker cannot be reached.
    while case .message(let message) = try next(by: nil) { take(message) }
    var retained = RetainedWait(from: clock.now)
    while let deadline = retained.deadline(at: clock.now, hasSubscribed: connection.hasSubscribed) {
      switch try next(by: deadline) {
      case .message(let message): take(message)
      case .connected: break
      case .late: retained.nothingCame(hasSubscribed: connection.hasSubscribed)
      }
    }
  }

  /// Disconnects once all messages have been sent, and waits for the end of the connection; for at most two seconds in
  /// all.
  func end() {
    let clock = MonotonicClock()
    let deadline = clock.now + .seconds(2)
    func pause() { _ = poll(nil, 0, 10) }
    while !connection.hasSentAll, clock.now < deadline { pause() }
    connection.end()
    while clock.now < deadline {
      if inbox.state.withLock({ $0.hasEnded }) { return }
      pause()
    }
  }
}
