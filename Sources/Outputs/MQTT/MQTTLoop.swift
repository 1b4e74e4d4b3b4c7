import CLinux
import Glibc
import Guarding
import Hub
import MonotonicTime

/// The work of a connection's thread. It starts a process that connects, gives messages to it and takes its reports;
/// when the process ends, it waits and starts another one. Use it only on that thread.
final class MQTTLoop {
  private struct Underway {
    var number: UInt32
    var message: Outbox.Message
  }

  /// A connection that lasts this long shows that the broker works, and resets the back-off.
  private static let soundness = Duration.seconds(30)
  /// How long the process may take to disconnect; it gives the broker a quarter of a second.
  private static let farewell = Duration.milliseconds(400)
  /// How long the process may take to connect. With a slow name server or a silent network, this can take minutes.
  private static let arrival = Duration.seconds(600)
  /// The longest wait for the process to report about a message. The process itself waits up to 20 s for the broker.
  private static let patience = Duration.seconds(40)
  /// A reason code of MQTT 5 (3.4.2.1): the broker has the message, and the topic has no subscribers.
  private static let noSubscribers: UInt32 = 0x10
  /// The maximum number of unacknowledged messages.
  private static let window = 16
  /// If the broker refuses a message as not allowed, no message is sent on its topic for this time. Some brokers end
  /// the connection each time they refuse one (mosquitto 2.0 with `max_queued_messages 0`).
  private static let forbearance = Duration.seconds(600)
  private static let mostForbidden = 256

  private let connection: MQTTConnection
  private let receive: @Sendable (MQTTConnection.Event) -> Void
  private let clock = MonotonicClock()
  private var isConnected = false
  /// The reason why the connection is over; `nil` while it is not. The process or the broker states it in a report, or
  /// a report was invalid.
  private var refusal: String?
  /// The next step for the user if the broker has refused the connection, and the step is known.
  private var nextStep: String?
  /// Whether the broker ended the connection because another client with the same identifier has connected. Then the
  /// back-off is not reset, because the two clients would end each other's connections again and again.
  private var isTakenOver = false
  /// The broker's maximum message size, if stated.
  private var maximumPacketByteCount: Int?
  /// The topics on which the broker has refused a message as not allowed, each with the time until which none is sent
  /// there.
  private var forbidden: [String: MonotonicInstant] = [:]
  /// The unacknowledged messages, in order.
  private var underway: [Underway] = []
  private var number: UInt32 = 0
  /// The time from which `arrival` and `patience` count: the start of the process, its last report, or the last message
  /// that it got while none was unacknowledged. The latest of the three counts.
  private var lastNews: MonotonicInstant

  init(_ connection: MQTTConnection, _ receive: @escaping @Sendable (MQTTConnection.Event) -> Void) {
    self.connection = connection
    self.receive = receive
    lastNews = clock.now
  }

  func run() {
    var backoff = ReconnectBackoff()
    while !connection.isEnding {
      let start = clock.now
      let reason = attend()
      let wasConnected = isConnected
      let wasSound = wasConnected && clock.now - start >= MQTTLoop.soundness
      isConnected = false
      connection.connected(false)
      connection.putBack(underway.map(\.message))
      underway = []
      guard !connection.isEnding else { return }
      receive(.disconnected(BrokerLoss(reason: reason, nextStep: nextStep)))
      if wasSound, !isTakenOver { backoff.reset() }
      let givesWay = wasConnected && !connection.isAwaited
      let deadline = clock.now + (givesWay ? backoff.nextGivingWay() : backoff.next())
      while !connection.isEnding, clock.now < deadline { wait(for: -1, [], until: deadline) }
    }
  }

  /// Starts a process that connects, and serves it until the connection is lost or must end. When this returns, the
  /// process has ended, and the broker no longer has the client.
  ///
  /// - Returns: the reason for the end
  private func attend() -> String {
    refusal = nil
    nextStep = nil
    isTakenOver = false
    maximumPacketByteCount = nil
    lastNews = clock.now
    let process: BrokerProcess
    do {
      // The options are read again for each connection, so that new passwords and certificates apply.
      process = try BrokerProcess(BrokerAccess(connection.options), program: connection.options.program)
    } catch let failure as BrokerProcess.Failure {
      return failure.reason
    } catch {
      return "\(error)"
    }
    while true {
      if connection.isEnding { return leave(process) }
      if isConnected { say(process) }
      process.send()
      let deadline = deadline
      if wait(for: process, until: deadline) {
        lastNews = clock.now
        do throws(BrokerProcess.Failure) {
          try process.read(take)
        } catch {
          return refusal ?? error.reason
        }
        if let refusal { return refusal }
      } else if let deadline, clock.now >= deadline {
        return "the broker's process did not answer, and was stopped"
      }
    }
  }

  /// The time by which the process must report; `nil` if no report is outstanding.
  private var deadline: MonotonicInstant? {
    if !isConnected { return lastNews + MQTTLoop.arrival }
    return underway.isEmpty ? nil : lastNews + MQTTLoop.patience
  }

  /// Gives the process waiting messages, up to the maximum number of unacknowledged ones.
  private func say(_ process: BrokerProcess) {
    while underway.count < MQTTLoop.window, let message = connection.nextMessage() {
      if let until = forbidden[message.topic] {
        if clock.now < until {
          connection.messageRefused()
          message.ticket?.settle(.refused(MQTTLoop.refusal(of: message, .notAllowed)))
          continue
        }
        forbidden[message.topic] = nil
      }
      guard message.payload.count <= BrokerProcess.longestMessage else {
        refused(message, .tooLarge(byteLimit: BrokerProcess.longestMessage))
        continue
      }
      if underway.isEmpty { lastNews = clock.now }
      number &+= 1
      underway.append(Underway(number: number, message: message))
      process.order(.publish(number: number, message))
    }
  }

  /// Disconnects so that the broker publishes the will.
  private func leave(_ process: BrokerProcess) -> String {
    guard isConnected else { return "" }
    process.order(.leave)
    let deadline = clock.now + MQTTLoop.farewell
    while clock.now < deadline {
      process.send()
      guard wait(for: process, until: deadline) else { continue }
      do throws(BrokerProcess.Failure) { try process.read { _ in } } catch { break }
    }
    return ""
  }

  private func wait(for process: BrokerProcess, until deadline: MonotonicInstant?) -> Bool {
    wait(for: process.socket, process.hasOrders ? [POLLIN, POLLOUT] : [POLLIN], until: deadline)
  }

  /// Sleeps until the socket is ready, the connection is woken, or an action is due.
  ///
  /// - Returns: whether the socket has something to read
  @discardableResult
  private func wait(for socket: Int32, _ events: [Int32], until deadline: MonotonicInstant?) -> Bool {
    var descriptors = [
      pollfd(fd: connection.wake.fileDescriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(events.reduce(0, |)), revents: 0),
    ]
    let left = deadline.map { max(0, ($0 - clock.now).inSeconds) }
    poll(&descriptors, 2, left.map { Int32(min($0, 86400) * 1000) + 1 } ?? -1)
    if descriptors[0].revents != 0 { connection.wake.clear() }
    return descriptors[1].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0
  }
}

extension MQTTLoop {
  /// Handles a report. This method must tolerate any report: see `BrokerReport`.
  private func take(_ report: BrokerReport) {
    // The connection is over, so further reports do not count.
    guard refusal == nil else { return }
    switch report {
    case .answered(let reason, let byteLimit): answered(reason, byteLimit: byteLimit)
    case .ended(let words): refusal = MQTTLoop.printable(words)
    case .closed(let reason): closed(reason)
    case _ where !isConnected: refusal = "the broker sent something before it accepted the connection"
    case .subscribed(let reason):
      // A broker that repeats its answers must not fill the log.
      if connection.subscribed(), reason.code >= 128 { receive(.refused(reason: MQTTLoop.printable(reason.words))) }
    case .received(let topic, let payload, let isRetained, let expirySeconds):
      receive(.received(topic: topic, payload: payload, isRetained: isRetained, expirySeconds: expirySeconds))
    case .leftOut(let byteCount): receive(.leftOut(byteCount: Int(byteCount)))
    case .acknowledged(let number, let reason): acknowledged(number, reason)
    case .unsent(let number, let isTooLong, let words):
      guard let message = answered(number) else { return }
      refused(message, isTooLong ? .tooLarge(byteLimit: maximumPacketByteCount) : .other(MQTTLoop.printable(words)))
    }
  }

  /// The library's text, shortened and made printable for a log.
  private static func printable(_ words: String) -> String { Text.printable(String(words.unicodeScalars.prefix(256))) }

  private func answered(_ reason: BrokerReport.Reason, byteLimit: UInt32) {
    guard !isConnected else {
      refusal = "the broker accepted the connection twice"
      return
    }
    guard reason.code == 0 else {
      refusal = "the broker refused the connection: \(MQTTLoop.printable(reason.words))"
      nextStep = reason.nextStep
      return
    }
    isConnected = true
    maximumPacketByteCount = byteLimit > 0 ? Int(byteLimit) : nil
    connection.connected(true)
    receive(.connected)
  }

  /// Removes the message with this number from the unacknowledged ones.
  private func answered(_ number: UInt32) -> Outbox.Message? {
    underway.firstIndex { $0.number == number }.map { underway.remove(at: $0).message }
  }

  private func acknowledged(_ number: UInt32, _ reason: BrokerReport.Reason) {
    guard let message = answered(number) else { return }
    // Lower codes mean that the broker accepted the message.
    if reason.code >= 128 {
      refused(message, MQTTRefusal.Reason(code: reason.code, words: MQTTLoop.printable(reason.words)))
      return
    }
    message.ticket?.settle(.accepted)
    if message.isProbe || reason.code == MQTTLoop.noSubscribers && !message.isRetained {
      receive(.answered(topic: message.topic, hasSubscribers: reason.code != MQTTLoop.noSubscribers))
    }
  }

  private func refused(_ message: Outbox.Message, _ reason: MQTTRefusal.Reason) {
    connection.messageRefused()
    if reason == .notAllowed {
      // The table is bounded, because viewers choose topics.
      if forbidden.count >= MQTTLoop.mostForbidden { forbidden = [:] }
      forbidden[message.topic] = clock.now + MQTTLoop.forbearance
    }
    let refusal = MQTTLoop.refusal(of: message, reason)
    message.ticket?.settle(.refused(refusal))
    receive(.notTaken(refusal))
  }

  private static func refusal(of message: Outbox.Message, _ reason: MQTTRefusal.Reason) -> MQTTRefusal {
    MQTTRefusal(topic: message.topic, byteCount: message.payload.count, reason: reason)
  }

  /// Handles the broker's reason for ending the connection. The broker's codes begin at 128, above those of the
  /// library.
  private func closed(_ reason: BrokerReport.Reason) {
    guard reason.code >= 128 else { return }
    isTakenOver = reason.code == 0x8e
    refusal =
      isTakenOver
      ? "another client with the name '\(connection.options.identifier)' has replaced this hub: each hub needs a name of "
        + "its own (mqtt.hub)"
      : "the broker ended the connection: \(MQTTLoop.printable(reason.words))"
    // The broker does not name the message that is too large. Sent again, this message would end the next connection
    // too, so the largest one is dropped.
    let largest = underway.indices.max { underway[$0].message.payload.count < underway[$1].message.payload.count }
    if MQTTRefusal.Reason(code: reason.code, words: "") == .tooLarge(byteLimit: nil), let largest {
      refused(underway.remove(at: largest).message, .tooLarge(byteLimit: nil))
    }
  }
}
