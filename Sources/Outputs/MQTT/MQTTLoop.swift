import CLinux
import CMosquitto
import Glibc
import Guarding
import Hub
import MonotonicTime

/// What a connection's thread does: connect, say and hear, wait and connect again. Lives on that thread alone.
final class MQTTLoop {
  private struct Underway {
    var identifier: Int32
    var message: Outbox.Message
  }

  /// How long an answer is waited for.
  private static let patience = Duration.seconds(20)
  /// From so long a connection on the broker is taken to be in order.
  private static let soundness = Duration.seconds(30)
  /// What a broker has for the client's leave.
  private static let farewell = Duration.milliseconds(250)
  /// A reason of MQTT 5's (3.4.2.1): the broker has the message, and nobody who wants it.
  private static let noSubscribers: Int32 = 0x10
  /// How many messages may be on their way.
  private static let window = 16
  /// When what the broker does not let the client say is tried again: there are brokers that end the connection for it each time
  /// (mosquitto 2.0 with `max_queued_messages 0`).
  private static let forbearance = Duration.seconds(600)
  private static let mostForbidden = 256

  private let connection: MQTTConnection
  private let receive: @Sendable (MQTTConnection.Event) -> Void
  private let clock = MonotonicClock()
  /// Another for each connection, so that passwords and certificates are as they are then.
  private var client: OpaquePointer?
  private var isConnected = false
  /// Why the broker lets the client not in, or go.
  private var refusal: String?
  /// Another client is called the same, and would have this one's place taken again and again.
  private var isTakenOver = false
  /// What the broker takes in one message at most, where it has said so.
  private var maximumPacketByteCount: Int?
  /// Topics under which the broker lets the client say nothing, and until when it is not tried.
  private var forbidden: [String: MonotonicInstant] = [:]
  /// What is on its way, in its order.
  private var underway: [Underway] = []
  private var isAsking = false
  private var lastHeard: MonotonicInstant
  private var lastSaid: MonotonicInstant
  /// When that was said which has no answer yet.
  private var askedAt: MonotonicInstant

  init(_ connection: MQTTConnection, _ receive: @escaping @Sendable (MQTTConnection.Event) -> Void) {
    self.connection = connection
    self.receive = receive
    lastHeard = clock.now
    lastSaid = clock.now
    askedAt = clock.now
  }

  deinit { if let client { cmosquitto_free(client) } }

  func run() {
    var pace = ReconnectPace()
    while !connection.isEnding {
      let start = clock.now
      let reason = attend()
      let wasConnected = isConnected
      let wasSound = wasConnected && clock.now - start >= MQTTLoop.soundness
      isConnected = false
      // For the broker it is gone from now on, not only from the next attempt on.
      if let client { cmosquitto_free(client) }
      client = nil
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

  /// Connects, and is there for the connection until it is lost or to end; returns why it is.
  private func attend() -> String {
    if let problem = makeClient() { return problem }
    guard let client else { return "no memory" }
    refusal = nil
    isTakenOver = false
    maximumPacketByteCount = nil
    isAsking = false
    let options = connection.options
    let seconds = Int32(options.keepAlive.components.seconds)
    let error = cmosquitto_connect(client, options.broker.host, options.broker.port, seconds)
    guard error == 0 else { return words(of: error) }
    lastSaid = clock.now
    askedAt = clock.now
    while true {
      if connection.isEnding { return leave(client) }
      if cmosquitto_wants_write(client) {
        lastSaid = clock.now
        let error = cmosquitto_write(client)
        guard error == 0 else { return words(of: error) }
      }
      if isConnected, let problem = say(client) { return problem }
      // While TLS is being agreed on there is always something to write, that only what the other end says lets out.
      let writes = isConnected && cmosquitto_wants_write(client)
      let deadline = deadline
      let ready = wait(for: cmosquitto_socket(client), writes ? [POLLIN, POLLOUT] : [POLLIN], until: deadline)
      if ready {
        lastHeard = clock.now
        isAsking = false
        let error = cmosquitto_read(client)
        guard error == 0 else { return words(of: error) }
        if let refusal { return refusal }
      } else if clock.now >= deadline {
        if isAwaiting { return "no answer within \(Text.duration(seconds: MQTTLoop.patience.inSeconds))" }
        lastSaid = clock.now
        askedAt = clock.now
        isAsking = true
        let error = cmosquitto_tick(client)
        guard error == 0 else { return words(of: error) }
      }
    }
  }

  /// Something has been said to which there is an answer.
  private var isAwaiting: Bool { !isConnected || isAsking || !underway.isEmpty }

  /// Until when something has to be heard, or said.
  private var deadline: MonotonicInstant {
    // The library counts whole seconds.
    isAwaiting
      ? max(lastHeard, askedAt) + MQTTLoop.patience : lastSaid + connection.options.keepAlive + .seconds(1)
  }

  /// Publishes what waits, as much as may be on its way.
  private func say(_ client: OpaquePointer) -> String? {
    while underway.count < MQTTLoop.window, let message = connection.nextMessage() {
      if let until = forbidden[message.topic] {
        if clock.now < until {
          connection.messageRefused()
          continue
        }
        forbidden[message.topic] = nil
      }
      var identifier: Int32 = 0
      lastSaid = clock.now
      if underway.isEmpty { askedAt = clock.now }
      let error = message.payload.withUnsafeBytes { payload in
        cmosquitto_publish(
          client, &identifier, message.topic, payload.baseAddress, Int32(payload.count), message.isRetained,
          message.expirySeconds)
      }
      if cmosquitto_is_of_message(error) {
        let reason = cmosquitto_is_too_large(error) ? nil : words(of: error)
        refused(message, reason.map { .other($0) } ?? .tooLarge(byteLimit: maximumPacketByteCount))
        continue
      }
      underway.append(Underway(identifier: identifier, message: message))
      guard error == 0 else { return words(of: error) }
    }
    return nil
  }

  /// Has the will said, and goes.
  private func leave(_ client: OpaquePointer) -> String {
    guard isConnected else { return "" }
    _ = cmosquitto_disconnect(client)
    let deadline = clock.now + MQTTLoop.farewell
    while cmosquitto_socket(client) >= 0, cmosquitto_wants_write(client), clock.now < deadline {
      wait(for: cmosquitto_socket(client), [POLLOUT], until: deadline)
      if cmosquitto_write(client) != 0 { break }
    }
    return ""
  }

  /// Sleeps until the socket is ready, somebody wakes the connection, or it is time. Returns whether the socket has something
  /// to read.
  @discardableResult
  private func wait(for socket: Int32, _ events: [Int32], until deadline: MonotonicInstant) -> Bool {
    var descriptors = [
      pollfd(fd: connection.wake.fileDescriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(events.reduce(0, |)), revents: 0),
    ]
    let left = max(0, (deadline - clock.now).inSeconds)
    poll(&descriptors, 2, Int32(min(left, 86400) * 1000) + 1)
    if descriptors[0].revents != 0 { connection.wake.clear() }
    return descriptors[1].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0
  }

  private func words(of error: Int32) -> String { refusal ?? String(cString: cmosquitto_error(error)) }
}

extension MQTTLoop {
  /// Returns why there is none.
  private func makeClient() -> String? {
    let options = connection.options
    let password: String?
    do throws(FleetObstacle) {
      password = try FleetObstacle.password(of: options.username, in: options.passwordFile)
    } catch {
      return error.description
    }
    // They are wanted for as long as this call takes; the library copies them.
    var copies: [UnsafeMutablePointer<CChar>?] = []
    defer { for copy in copies { free(copy) } }
    func text(_ text: String?) -> UnsafePointer<CChar>? {
      guard let text else { return nil }
      let copy = strdup(text)
      copies.append(copy)
      return copy.map { UnsafePointer($0) }
    }
    var settings = cmosquitto_settings()
    settings.identifier = text(options.identifier)
    settings.username = text(options.username)
    settings.password = text(password)
    settings.is_encrypted = options.broker.isEncrypted
    settings.ca_file = text(options.caFile)
    settings.certificate_file = text(options.certificateFile)
    settings.key_file = text(options.keyFile)
    settings.will_topic = text(options.will?.topic)
    settings.will = text(options.will?.text)
    settings.session_expiry_seconds = UInt32(clamping: options.sessionExpiry.components.seconds)
    settings.maximum_packet_bytes = UInt32(clamping: options.maximumPacketByteCount)
    var events = cmosquitto_events()
    // The client is freed with this loop, and calls back from within calls of this loop's only.
    events.context = Unmanaged.passUnretained(self).toOpaque()
    events.answered = { context, reason, limit in MQTTLoop.of(context)?.answered(reason, byteLimit: limit) }
    events.subscribed = { context, reason in MQTTLoop.of(context)?.subscribed(reason) }
    events.received = { context, topic, payload, count, isRetained, expiry in
      guard let topic else { return }
      MQTTLoop.of(context)?.received(
        String(cString: topic), Array(UnsafeRawBufferPointer(start: payload, count: payload == nil ? 0 : Int(count))),
        isRetained: isRetained, expiry)
    }
    events.acknowledged = { context, identifier, reason in MQTTLoop.of(context)?.acknowledged(identifier, reason) }
    events.closed = { context, reason in MQTTLoop.of(context)?.closed(reason) }
    var error: Int32 = 0
    client = cmosquitto_new(&settings, &events, &error)
    return client == nil ? words(of: error) : nil
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> MQTTLoop? {
    context.map { Unmanaged<MQTTLoop>.fromOpaque($0).takeUnretainedValue() }
  }

  private func answered(_ reason: Int32, byteLimit: UInt32) {
    guard reason == 0, let client else {
      refusal = "the broker lets it not in: \(String(cString: cmosquitto_reason(reason)))"
      return
    }
    isConnected = true
    maximumPacketByteCount = byteLimit > 0 ? Int(byteLimit) : nil
    for filter in connection.options.subscriptions { _ = cmosquitto_subscribe(client, filter) }
    connection.connected(true)
    receive(.connected)
  }

  private func subscribed(_ reason: Int32) {
    connection.subscribed()
    if reason >= 128 { receive(.refused(reason: String(cString: cmosquitto_reason(reason)))) }
  }

  private func received(_ topic: String, _ payload: [UInt8], isRetained: Bool, _ expiry: Int64) {
    // The library acknowledges it.
    lastSaid = clock.now
    receive(
      .received(topic: topic, payload: payload, isRetained: isRetained, expirySeconds: UInt32(exactly: expiry)))
  }

  private func acknowledged(_ identifier: Int32, _ reason: Int32) {
    guard let index = underway.firstIndex(where: { $0.identifier == identifier }) else { return }
    let message = underway.remove(at: index).message
    // Below are what it says of messages that it takes.
    if reason >= 128 {
      refused(message, MQTTRefusal.Reason(code: reason, words: String(cString: cmosquitto_reason(reason))))
    } else if message.isProbe || reason == MQTTLoop.noSubscribers && !message.isRetained {
      receive(.answered(topic: message.topic, hasSubscribers: reason != MQTTLoop.noSubscribers))
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
  private func closed(_ reason: Int32) {
    guard reason >= 128 else { return }
    isTakenOver = reason == 0x8e
    refusal =
      isTakenOver
      ? "somebody else has come who is called '\(connection.options.identifier)' too, and has its place: each hub needs a name of "
        + "its own (mqtt.hub)"
      : "the broker ends it: \(String(cString: cmosquitto_reason(reason)))"
    // It would end the next one for the same message.
    let largest = underway.indices.max { underway[$0].message.payload.count < underway[$1].message.payload.count }
    if MQTTRefusal.Reason(code: reason, words: "") == .tooLarge(byteLimit: nil), let largest {
      refused(underway.remove(at: largest).message, .tooLarge(byteLimit: nil))
    }
  }
}
