import Hub
import MonotonicTime

/// The server's view of a client, which decides when its session gets the received bytes. For one thread alone.
///
/// An HTTP request reaches no session. A client that changes its leases repeatedly is served at a steady rate, and one
/// that does not read its answers only after it has read; until then it is not read itself, and no other client waits
/// for it.
final class StreamClient {
  /// How long is listened for the first word of who should have one, before everything is served: a browser speaks at once, and
  /// must wake nothing.
  static let hearing = Duration.milliseconds(250)
  /// The maximum stay of a client that never sends a request.
  static let silence = Duration.seconds(300)

  /// No first line is longer, including blanks before it; a browser's may contain a long address.
  private static let beginning = 4096

  let connection: StreamConnection
  let kind: StreamKind
  /// `nil` on a Unix socket.
  let address: IPAddress?
  /// Where it connected, or what that has become since; `nil` on a Unix socket.
  var port: StreamPort?
  /// `nil` at a port.
  var guest: LocalAdmission.Guest?
  private let output: any StreamOutput
  private let since: MonotonicInstant
  private var session: (any StreamSession)?
  /// Something else than HTTP has been heard; or nothing need be, where no browser gets to.
  private var isRecognised: Bool
  private(set) var hasSpoken = false
  /// The bytes that the session has not been given yet.
  private var pending: ArraySlice<UInt8> = []
  private var pace: RequestPace

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
    pace = RequestPace(from: now)
  }

  /// Has never asked for anything.
  var isBare: Bool { !kind.servesWhoeverConnects && !hasSpoken }

  /// Whether to read it.
  var isHeard: Bool { !isRecognised || pending.isEmpty && !connection.isCongested }

  /// When the client has to be looked at again, if nothing happens before.
  var deadline: MonotonicInstant? {
    var earliest = connection.deadline
    func consider(_ deadline: MonotonicInstant) { earliest = min(earliest ?? deadline, deadline) }
    if session == nil { consider(since + StreamClient.hearing) }
    if isBare { consider(since + StreamClient.silence) }
    if session != nil, isRecognised, !pending.isEmpty, !connection.isCongested { consider(pace.next) }
    return earliest
  }

  /// Takes the client's bytes, for `proceed` to pass on; returns whether it may stay.
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

  /// Performs due actions; returns whether the client is still served.
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

  /// Gives the session the permitted bytes, request by request if one changes something.
  private func handOver(now: MonotonicInstant) {
    guard let session else { return }
    while !pending.isEmpty {
      if connection.isCongested { return }
      let end = kind.endOfRequest(in: pending)
      let request = pending[..<end]
      if kind.mayChangeLeases(request), !pace.take(at: now) { return }
      request.withUnsafeBufferPointer(session.receive)
      pending = pending[end...]
    }
    pending = []
  }

  /// The connection is over, and so is every lease.
  func end() {
    session?.end()
    connection.close()
  }
}
