import CLinux
import CMosquitto
import Glibc
import MonotonicTime

/// The process at the other end of a `BrokerProcess`: libmosquitto with one connection to a broker, and nothing else.
/// It ends when the connection or its hub ends.
public final class BrokerClient {
  /// How long the broker may take to answer.
  private static let patience = Duration.seconds(20)
  /// How long sending DISCONNECT to the broker may take.
  private static let farewell = Duration.milliseconds(250)
  /// The limit of the process's memory, not counting the executable and the libraries. The process starts with 6 MB,
  /// and needs room for 16 unacknowledged messages.
  private static let memoryByteLimit = UInt64(64 << 20)

  /// A message that the broker has not acknowledged.
  private struct Underway {
    /// The library's number of the message.
    var identifier: Int32
    /// The hub's number of the message.
    var number: UInt32
  }

  private let clock = MonotonicClock()
  private let access: BrokerAccess
  private var hub: HubSocket
  private var client: OpaquePointer?
  private var isConnected = false
  private var isLeaving = false
  private var isAsking = false
  private var underway: [Underway] = []
  private var lastHeard: MonotonicInstant
  private var lastSaid: MonotonicInstant
  /// When the request that is still unanswered was sent.
  private var askedAt: MonotonicInstant

  /// Call this first in `main`. A program that uses `MQTTConnection` starts itself again for each connection. In such
  /// a start this call serves the connection and does not return. In any other start it returns at once.
  public static func runIfAsked() {
    guard CommandLine.arguments.dropFirst().first == BrokerProcess.argument else { return }
    clinux_end_with_parent()
    // A terminal and systemd signal all processes of a hub. This process ignores signals, because the hub first
    // disconnects from the broker, and then this process ends.
    for number in [SIGHUP, SIGINT, SIGTERM, SIGPIPE] { signal(number, SIG_IGN) }
    // With Swift's crash report, a crash would take longer than a new start.
    for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    clinux_name_thread("sensorhub-mqtt")
    exit(run())
  }

  private static func run() -> Int32 {
    var hub = HubSocket()
    guard hub.isThere else {
      let message = "sensorhub \(BrokerProcess.argument) is an internal command of the hub; see sensorhub --help\n"
      _ = message.withCString { write(STDERR_FILENO, $0, strlen($0)) }
      return 64
    }
    guard clinux_limit_memory(memoryByteLimit) == 0 else {
      hub.report(.ended(words: "its memory cannot be limited: \(String(cString: strerror(errno)))"))
      return 71
    }
    let access = hub.access()
    let client = BrokerClient(access, hub)
    let reason = client.attend()
    if !client.isLeaving { client.report(.ended(words: reason)) }
    return 0
  }

  private init(_ access: BrokerAccess, _ hub: consuming HubSocket) {
    self.access = access
    self.hub = hub
    lastHeard = clock.now
    lastSaid = clock.now
    askedAt = clock.now
  }

  deinit { if let client { cmosquitto_free(client) } }

  private func report(_ report: BrokerReport) { hub.report(report) }

  /// Connects, and serves the connection until it is lost or the hub ends it. Returns the reason.
  private func attend() -> String {
    guard cmosquitto_is_available() else { return MQTTError.missingLibrary.description }
    if let problem = makeClient() { return problem }
    guard let client else { return "no memory" }
    let error = cmosquitto_connect(client, access.host, access.port, Int32(clamping: access.keepAliveSeconds))
    guard error == 0 else { return words(of: error) }
    lastSaid = clock.now
    askedAt = clock.now
    while true {
      if isLeaving { return leave(client) }
      // On some invalid packets the library closes the connection without reporting an error.
      guard cmosquitto_socket(client) >= 0 else { return "the broker has ended the connection" }
      if cmosquitto_wants_write(client) {
        lastSaid = clock.now
        let error = cmosquitto_write(client)
        guard error == 0 else { return words(of: error) }
      }
      // During the TLS handshake the library always wants to write, but must read first.
      let writes = isConnected && cmosquitto_wants_write(client)
      let deadline = deadline
      let ready = wait(for: cmosquitto_socket(client), writes: writes, until: deadline)
      if ready.hub, let problem = obey(client) { return problem }
      if ready.broker {
        lastHeard = clock.now
        isAsking = false
        let error = cmosquitto_read(client)
        guard error == 0 else { return words(of: error) }
      } else if !ready.hub, clock.now >= deadline {
        if isAwaiting { return "no answer within \(Text.duration(seconds: BrokerClient.patience.inSeconds))" }
        lastSaid = clock.now
        askedAt = clock.now
        isAsking = true
        let error = cmosquitto_tick(client)
        guard error == 0 else { return words(of: error) }
      }
    }
  }

  /// Whether an answer of the broker is outstanding.
  private var isAwaiting: Bool { !isConnected || isAsking || !underway.isEmpty }

  /// When an answer of the broker is overdue, or else a ping is due.
  private var deadline: MonotonicInstant {
    // The additional second is necessary because the library counts in whole seconds.
    isAwaiting
      ? max(lastHeard, askedAt) + BrokerClient.patience
      : lastSaid + .seconds(Int64(access.keepAliveSeconds)) + .seconds(1)
  }

  /// Sleeps until the hub or the broker sends something, or until the deadline.
  private func wait(
    for socket: Int32, writes: Bool, until deadline: MonotonicInstant
  ) -> (hub: Bool, broker: Bool) {
    var descriptors: (pollfd, pollfd) = (
      pollfd(fd: hub.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(writes ? POLLIN | POLLOUT : POLLIN), revents: 0)
    )
    let left = max(0, (deadline - clock.now).inSeconds)
    withUnsafeMutablePointer(to: &descriptors) { pointer in
      pointer.withMemoryRebound(to: pollfd.self, capacity: 2) {
        _ = poll($0, 2, Int32(min(left, 86400) * 1000) + 1)
      }
    }
    let ready = Int16(POLLIN | POLLHUP | POLLERR)
    return (descriptors.0.revents & ready != 0, descriptors.1.revents & ready != 0)
  }

  /// Carries out the hub's orders.
  ///
  /// - Returns: why the connection is over; `nil` if it continues
  private func obey(_ client: OpaquePointer) -> String? {
    var ordered: [BrokerOrder] = []
    hub.read { ordered.append($0) }
    for order in ordered {
      switch order {
      case .connect: break
      case .leave: isLeaving = true
      case .publish(let number, let message):
        if let problem = publish(message, number, client) { return problem }
      }
    }
    return nil
  }

  private func publish(_ message: Outbox.Message, _ number: UInt32, _ client: OpaquePointer) -> String? {
    var identifier: Int32 = 0
    lastSaid = clock.now
    if underway.isEmpty { askedAt = clock.now }
    let error = message.payload.withUnsafeBytes { payload in
      cmosquitto_publish(
        client, &identifier, message.topic, payload.baseAddress, Int32(payload.count), message.isRetained,
        message.expirySeconds)
    }
    if cmosquitto_is_of_message(error) {
      report(.unsent(number: number, isTooLong: cmosquitto_is_too_large(error), words: words(of: error)))
      return nil
    }
    underway.append(Underway(identifier: identifier, number: number))
    return error == 0 ? nil : words(of: error)
  }

  /// Disconnects so that the broker publishes the will.
  private func leave(_ client: OpaquePointer) -> String {
    guard isConnected else { return "" }
    _ = cmosquitto_disconnect(client)
    let deadline = clock.now + BrokerClient.farewell
    while cmosquitto_socket(client) >= 0, cmosquitto_wants_write(client), clock.now < deadline {
      var descriptor = pollfd(fd: cmosquitto_socket(client), events: Int16(POLLOUT), revents: 0)
      poll(&descriptor, 1, Int32(max(0, (deadline - clock.now).inSeconds) * 1000) + 1)
      if cmosquitto_write(client) != 0 { break }
    }
    return ""
  }

  private func words(of error: Int32) -> String { String(cString: cmosquitto_error(error)) }
}

extension BrokerClient {
  /// Makes the client; returns the reason if that fails, or `nil`.
  private func makeClient() -> String? {
    // The library copies these strings, so they can be freed after the calls.
    var copies: [UnsafeMutablePointer<CChar>?] = []
    defer { for copy in copies { free(copy) } }
    func text(_ text: String?) -> UnsafePointer<CChar>? {
      guard let text else { return nil }
      let copy = strdup(text)
      copies.append(copy)
      return copy.map { UnsafePointer($0) }
    }
    var settings = cmosquitto_settings()
    settings.identifier = text(access.identifier)
    settings.username = text(access.username)
    settings.password = text(access.password)
    settings.is_encrypted = access.isEncrypted
    settings.ca_file = text(access.caFile)
    settings.certificate_file = text(access.certificateFile)
    settings.key_file = text(access.keyFile)
    settings.will_topic = text(access.will?.topic)
    settings.will = text(access.will?.text)
    settings.session_expiry_seconds = access.sessionExpirySeconds
    settings.maximum_packet_bytes = UInt32(clamping: access.maximumPacketByteCount)
    var events = cmosquitto_events()
    // The client is freed with this object, and calls back only from calls that this object makes.
    events.context = Unmanaged.passUnretained(self).toOpaque()
    events.answered = { context, reason, limit in BrokerClient.of(context)?.answered(reason, byteLimit: limit) }
    events.subscribed = { context, reason in
      BrokerClient.of(context)?.report(.subscribed(BrokerClient.reason(reason)))
    }
    events.received = { context, topic, payload, count, isRetained, expiry, isAnswered in
      guard let topic else { return }
      let payload = UnsafeRawBufferPointer(start: payload, count: payload == nil ? 0 : Int(count))
      BrokerClient.of(context)?.received(topic, payload, isRetained: isRetained, expiry, isAnswered: isAnswered)
    }
    events.acknowledged = { context, identifier, reason in BrokerClient.of(context)?.acknowledged(identifier, reason) }
    events.closed = { context, reason in
      // Codes below 128 are the library's own.
      if reason >= 128 { BrokerClient.of(context)?.report(.closed(BrokerClient.reason(reason))) }
    }
    var error: Int32 = 0
    client = cmosquitto_new(&settings, &events, &error)
    return client == nil ? words(of: error) : nil
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> BrokerClient? {
    context.map { Unmanaged<BrokerClient>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func reason(_ code: Int32) -> BrokerReport.Reason {
    BrokerReport.Reason(code: UInt32(clamping: code), words: String(cString: cmosquitto_reason(code)))
  }

  private func answered(_ reason: Int32, byteLimit: UInt32) {
    if reason == 0, let client {
      isConnected = true
      for filter in access.subscriptions { _ = cmosquitto_subscribe(client, filter) }
    }
    report(.answered(BrokerClient.reason(reason), byteLimit: byteLimit))
  }

  private func received(
    _ topic: UnsafePointer<CChar>, _ payload: UnsafeRawBufferPointer, isRetained: Bool, _ expiry: Int64,
    isAnswered: Bool
  ) {
    // The broker counts the time since the client last sent something, and an acknowledgement is something.
    if isAnswered { lastSaid = clock.now }
    let byteCount = strlen(topic) + payload.count
    guard byteCount <= access.maximumPacketByteCount else {
      return report(.leftOut(byteCount: UInt32(clamping: byteCount)))
    }
    report(
      .received(
        topic: String(cString: topic), payload: Array(payload), isRetained: isRetained,
        expirySeconds: UInt32(exactly: expiry)))
  }

  private func acknowledged(_ identifier: Int32, _ reason: Int32) {
    guard let index = underway.firstIndex(where: { $0.identifier == identifier }) else { return }
    report(.acknowledged(number: underway.remove(at: index).number, BrokerClient.reason(reason)))
  }
}
