import CLinux
import Glibc
import Guarding
import Hub
import MonotonicTime

/// The work of a connection's thread: it starts a process that connects, gives it messages to publish, takes its
/// reports, and after its end waits and starts another one. It is used on that thread alone.
final class MQTTLoop {
  private struct Underway {
    var number: UInt32
    var message: Outbox.Message
  }

  /// After this duration of a connection the broker counts as working.
  private static let soundness = Duration.seconds(30)
  /// How long the process may take to disconnect; it gives the broker a quarter of a second.
  private static let farewell = Duration.milliseconds(400)
  /// How long the process may take to connect: resolving a name or a silent network can take minutes.
  private static let arrival = Duration.seconds(600)
  /// How long the process may take to report about a message; it gives the broker 20 s.
  private static let patience = Duration.seconds(40)
  /// A reason of MQTT 5's (3.4.2.1): the broker has the message, which has no subscribers.
  private static let noSubscribers: UInt32 = 0x10
  /// How many messages may be on their way.
  private static let window = 16
  /// The delay before a refused message is tried again: some brokers end the connection for it each time (mosquitto 2.0
  /// with `max_queued_messages 0`).
  private static let forbearance = Duration.seconds(600)
  private static let mostForbidden = 256

  private let connection: MQTTConnection
  private let receive: @Sendable (MQTTConnection.Event) -> Void
  private let clock = MonotonicClock()
  private var isConnected = false
  /// Why the broker lets the client not in, or go.
  private var refusal: String?
  /// Another client is called the same, and would have this one's place taken again and again.
  private var isTakenOver = false
  /// The broker's maximum message size, if stated.
  private var maximumPacketByteCount: Int?
  /// Topics under which the broker lets the client say nothing, and until when it is not tried.
  private var forbidden: [String: MonotonicInstant] = [:]
  /// The messages on their way, in their order.
  private var underway: [Underway] = []
  private var number: UInt32 = 0
  /// When the process started, got the first of its messages, or last reported.
  private var lastNews: MonotonicInstant

  init(_ connection: MQTTConnection, _ receive: @escaping @Sendable (MQTTConnection.Event) -> Void) {
    self.connection = connection
    self.receive = receive
    lastNews = clock.now
  }

  func run() {
    var pace = ReconnectPace()
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
      receive(.disconnected(reason: reason))
      if wasSound, !isTakenOver { pace.reset() }
      let givesWay = wasConnected && !connection.isAwaited
      let deadline = clock.now + (givesWay ? pace.nextGivingWay() : pace.next())
      while !connection.isEnding, clock.now < deadline { wait(for: -1, [], until: deadline) }
    }
  }

  /// Starts a process that connects, and serves it until the connection is lost or must end. Returns the reason. The process is
  /// gone then, and so is the client for the broker.
  private func attend() -> String {
    refusal = nil
    isTakenOver = false
    maximumPacketByteCount = nil
    lastNews = clock.now
    let process: BrokerProcess
    do {
      // A new one for each connection, so that renewed passwords and certificates count.
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

  /// Until when the process has to report; `nil` while it owes no report.
  private var deadline: MonotonicInstant? {
    if !isConnected { return lastNews + MQTTLoop.arrival }
    return underway.isEmpty ? nil : lastNews + MQTTLoop.patience
  }

  /// Publishes waiting messages, as many as may be on their way.
  private func say(_ process: BrokerProcess) {
    while underway.count < MQTTLoop.window, let message = connection.nextMessage() {
      if let until = forbidden[message.topic] {
        if clock.now < until {
          connection.messageRefused()
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

  /// Sleeps until the socket is ready, the connection is woken, or an action is due. Returns whether the socket has
  /// something to read.
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
  /// Takes a report, which may be any: see `BrokerReport`.
  private func take(_ report: BrokerReport) {
    // The connection is over already.
    guard refusal == nil else { return }
    switch report {
    case .answered(let reason, let byteLimit): answered(reason, byteLimit: byteLimit)
    case .ended(let words): refusal = MQTTLoop.printable(words)
    case .closed(let reason): closed(reason)
    case _ where !isConnected: refusal = "the broker sent something before it accepted the connection"
    case .subscribed(let reason):
      // A broker that answers again and again fills no log.
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

  /// The library's words, which are short, for a log.
  private static func printable(_ words: String) -> String { Text.printable(String(words.unicodeScalars.prefix(256))) }

  private func answered(_ reason: BrokerReport.Reason, byteLimit: UInt32) {
    guard !isConnected else {
      refusal = "the broker accepted the connection twice"
      return
    }
    guard reason.code == 0 else {
      refusal = "the broker lets it not in: \(MQTTLoop.printable(reason.words))"
      return
    }
    isConnected = true
    maximumPacketByteCount = byteLimit > 0 ? Int(byteLimit) : nil
    connection.connected(true)
    receive(.connected)
  }

  /// Removes the message of this number from those on their way.
  private func answered(_ number: UInt32) -> Outbox.Message? {
    underway.firstIndex { $0.number == number }.map { underway.remove(at: $0).message }
  }

  private func acknowledged(_ number: UInt32, _ reason: BrokerReport.Reason) {
    guard let message = answered(number) else { return }
    // Lower codes concern accepted messages.
    if reason.code >= 128 {
      refused(message, MQTTRefusal.Reason(code: reason.code, words: MQTTLoop.printable(reason.words)))
    } else if message.isProbe || reason.code == MQTTLoop.noSubscribers && !message.isRetained {
      receive(.answered(topic: message.topic, hasSubscribers: reason.code != MQTTLoop.noSubscribers))
    }
  }

  private func refused(_ message: Outbox.Message, _ reason: MQTTRefusal.Reason) {
    connection.messageRefused()
    if reason == .notAllowed {
      // Viewers make topics up.
      if forbidden.count >= MQTTLoop.mostForbidden { forbidden = [:] }
      forbidden[message.topic] = clock.now + MQTTLoop.forbearance
    }
    receive(.notTaken(MQTTRefusal(topic: message.topic, byteCount: message.payload.count, reason: reason)))
  }

  /// With a reason of the broker's, which are above those of the library.
  private func closed(_ reason: BrokerReport.Reason) {
    guard reason.code >= 128 else { return }
    isTakenOver = reason.code == 0x8e
    refusal =
      isTakenOver
      ? "another client has the name '\(connection.options.identifier)' too, and has replaced it: each hub needs a name of "
        + "its own (mqtt.hub)"
      : "the broker ends it: \(MQTTLoop.printable(reason.words))"
    // It would end the next one for the same message.
    let largest = underway.indices.max { underway[$0].message.payload.count < underway[$1].message.payload.count }
    if MQTTRefusal.Reason(code: reason.code, words: "") == .tooLarge(byteLimit: nil), let largest {
      refused(underway.remove(at: largest).message, .tooLarge(byteLimit: nil))
    }
  }
}
