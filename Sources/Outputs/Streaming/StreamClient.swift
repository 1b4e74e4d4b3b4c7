import Hub
import MonotonicTime

/// The server's view of a client. It decides when the session gets the received bytes. Use it on one thread.
///
/// No HTTP request reaches a session. A client that changes its leases repeatedly is served at a steady rate. While a
/// client does not read its answers, the server does not read its requests. Other clients are served in the meantime.
final class StreamClient {
  /// How long the server waits for the first line of a client that need not send one, before it serves the client. A
  /// browser sends its first line within this time, and must wake no device.
  static let hearing = Duration.milliseconds(250)
  /// How long a client may stay without ever sending a request, if its service needs one.
  static let silence = Duration.seconds(300)

  /// The longest first line in bytes, including blanks before it. A browser's line may contain a long address.
  private static let beginning = 4096

  let connection: StreamConnection
  let kind: StreamKind
  /// The client's address; `nil` on a Unix socket.
  let address: IPAddress?
  /// The port to which the client connected, or the port that replaced it after a reload; `nil` on a Unix socket.
  var port: StreamPort?
  /// The process and user of the client of a Unix socket; `nil` at a port.
  var guest: LocalAdmission.Guest?
  private let output: any StreamOutput
  private let since: MonotonicInstant
  private var session: (any StreamSession)?
  /// Whether the client cannot be a browser, because of its first line or because no browser can reach the socket.
  private var isRecognised: Bool
  private(set) var hasSpoken = false
  /// The bytes that the session has not received yet.
  private var pending: ArraySlice<UInt8> = []
  private var rate: RequestRate

  init(
    _ connection: StreamConnection, of kind: StreamKind, at address: IPAddress?, served output: any StreamOutput,
    now: MonotonicInstant
  ) {
    self.connection = connection
    self.kind = kind
    self.address = address
    self.output = output
    since = now
    isRecognised = address == nil
    rate = RequestRate(from: now)
  }

  /// Whether the client must send a request and has not. Such a client is disconnected first if there is no room.
  var isBare: Bool { !kind.servesWhoeverConnects && !hasSpoken }

  /// Whether the server should read from the client now.
  var isHeard: Bool { !isRecognised || pending.isEmpty && !connection.isCongested }

  /// When the client must be checked again, if no event occurs before.
  var deadline: MonotonicInstant? {
    var earliest = connection.deadline
    func consider(_ deadline: MonotonicInstant) { earliest = min(earliest ?? deadline, deadline) }
    if session == nil { consider(since + StreamClient.hearing) }
    if isBare { consider(since + StreamClient.silence) }
    if session != nil, isRecognised, !pending.isEmpty, !connection.isCongested { consider(rate.next) }
    return earliest
  }

  /// Takes the client's bytes. `proceed` passes them on.
  ///
  /// - Returns: whether the client may stay
  func receive(_ bytes: some Collection<UInt8>, now: MonotonicInstant) -> Bool {
    pending += bytes
    if !isRecognised {
      switch ForeignProtocol.verdict(on: pending, textBeginsWith: kind.firstLetters) {
      case .foreign: return false
      case .undecided: return pending.count <= StreamClient.beginning
      case .other: break
      }
      isRecognised = true
    }
    hasSpoken = true
    return true
  }

  /// Begins the session when it is due, checks the client's deadlines, and passes on the bytes that may be served.
  ///
  /// - Returns: whether the client is still served
  func proceed(now: MonotonicInstant) -> Bool {
    if session == nil, isRecognised || !kind.servesWhoeverConnects || now >= since + StreamClient.hearing {
      session = output.serve(connection)
      if session == nil { return false }
    }
    if isBare, now >= since + StreamClient.silence { return false }
    if let deadline = connection.deadline, deadline <= now { return false }
    if isRecognised { handOver(now: now) }
    return true
  }

  /// Passes pending requests to the session one by one, until the client changes leases too often or has too many
  /// unread answers.
  private func handOver(now: MonotonicInstant) {
    guard let session else { return }
    while !pending.isEmpty {
      if connection.isCongested { return }
      let end = kind.endOfRequest(in: pending)
      let request = pending[..<end]
      if kind.mayChangeLeases(request), !rate.take(at: now) { return }
      request.withUnsafeBufferPointer(session.receive)
      pending = pending[end...]
    }
    pending = []
  }

  /// Ends all leases, and closes the connection.
  func end() {
    session?.end()
    connection.close()
  }
}
