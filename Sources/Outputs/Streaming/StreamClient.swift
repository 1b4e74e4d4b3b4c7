import Hub
import MonotonicTime

/// The server's view of a client. It decides when the session gets the received bytes. Use it on one thread.
///
/// No HTTP request reaches a session. A client that changes its leases repeatedly is served at a steady rate. While a
/// client does not read its answers, the server does not read its requests. Other clients are served in the meantime.
final class StreamClient {
  /// The server waits this long for the first line of a client that need not send one, and then serves it. A browser
  /// sends its first line within this time, so the server recognises it before it wakes a device.
  static let hearing = Duration.milliseconds(250)
  /// How long a client may stay without ever sending a request, if its service needs one.
  static let silence = Duration.seconds(300)

  /// How long a client that has ended its sending stays while its session takes none of its bytes.
  static let backlog = Duration.seconds(30)

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
  /// Whether the client has ended its sending.
  private var hasEnded = false
  /// When the session became full, or got the last bytes of a client that has ended its sending direction; `nil` if
  /// neither.
  private var fullSince: MonotonicInstant?
  /// Whether `fullSince` is less than `backlog` ago.
  private var isBacklogFresh = false

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
  var isHeard: Bool { !hasEnded && (!isRecognised || pending.isEmpty && !isCongested) }

  /// Whether a client that is not heard is removed as soon as it ends its sending. While the session is full, the
  /// client stays, and its earlier bytes still count: a program may send a file to a slow receiver and end.
  var isDismissedAtEnd: Bool { !isBacklogFresh }

  /// Whether the client must not send more at present.
  private var isCongested: Bool { connection.isCongested || session?.isFull == true }

  /// When the client must be checked again, if no event occurs before.
  var deadline: MonotonicInstant? {
    var earliest = connection.deadline
    func consider(_ deadline: MonotonicInstant) { earliest = min(earliest ?? deadline, deadline) }
    if session == nil { consider(since + StreamClient.hearing) }
    if isBare { consider(since + StreamClient.silence) }
    if isBacklogFresh, let fullSince { consider(fullSince + StreamClient.backlog) }
    if session != nil, isRecognised, !pending.isEmpty, !isCongested { consider(rate.next) }
    return earliest
  }

  /// Stores the client's bytes until `proceed` passes them on.
  ///
  /// - Returns: whether the client may stay
  func receive(_ bytes: some Collection<UInt8>, now: MonotonicInstant) -> Bool {
    pending += bytes
    if !isRecognised {
      switch ForeignProtocol.verdict(on: pending, textBeginsWith: kind.firstLetters, permitsBinary: kind.permitsBinary)
      {
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
    noteBacklog(now: now)
    return !hasEnded || isBacklogFresh
  }

  /// Records that the client has ended its sending.
  ///
  /// - Returns: whether the client stays until its last bytes are used
  func endOfInput() -> Bool {
    hasEnded = true
    return session?.hasWaiting == true
  }

  private func noteBacklog(now: MonotonicInstant) {
    let isBehind = session?.isFull == true || hasEnded && session?.hasWaiting == true
    let since = isBehind ? fullSince ?? now : nil
    fullSince = since
    isBacklogFresh = since.map { now < $0 + StreamClient.backlog } ?? false
  }

  /// Passes pending requests to the session one by one, until the client changes leases too often or has too many
  /// unread answers.
  private func handOver(now: MonotonicInstant) {
    guard let session else { return }
    while !pending.isEmpty {
      if isCongested { return }
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

/// Limits how often one client may change its leases: a burst of changes at once, and then a steady rate (a token
/// bucket).
struct RequestRate {
  /// The number of changes that are allowed at once.
  static let burst = 20.0
  /// The number of changes per second after that.
  static let perSecond = 4.0

  private var left = RequestRate.burst
  private var at: MonotonicInstant

  init(from start: MonotonicInstant) { at = start }

  /// Takes one change from the permitted number; `false` if the client must wait.
  mutating func take(at now: MonotonicInstant) -> Bool {
    left = min(RequestRate.burst, left + max(0, now.seconds(since: at)) * RequestRate.perSecond)
    at = max(at, now)
    guard left >= 1 else { return false }
    left -= 1
    return true
  }

  /// When the next change is allowed, if the last one was not.
  var next: MonotonicInstant { at + .nanoseconds(Int64((1 - left) / RequestRate.perSecond * 1e9) + 1) }
}

/// Recognises, by its first line, a protocol that does not belong on a port: an HTTP request, TLS, or a binary
/// protocol such as STUN.
///
/// A web page can make its browser send an HTTP request or TLS to any port of this machine or network. The page
/// chooses the request's later lines. It also chooses the method, if the browser considers the port part of the
/// page's own site. With WebRTC, a page can make the browser request a relay from any port (TURN over TCP, RFC 8656).
/// Such a request begins with STUN's header, whose first byte is below 4 (RFC 8489, section 5). No page can make a
/// browser begin with other bytes.
enum ForeignProtocol {
  enum Verdict: Equatable {
    /// More bytes are needed.
    case undecided
    case foreign
    /// The bytes belong to no foreign protocol.
    case other
  }

  /// The first bytes of an HTTP/1 request (RFC 9110, section 9.3; RFC 5789) or an HTTP/2 connection (RFC 9113, section
  /// 3.4).
  private static let beginnings =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"].map { Array("\($0) ".utf8) }

  private static let blanks = Array("\r\n \t".utf8)

  /// The lowest first byte of a receiver's binary message. The bytes from 128 to 159 may begin a hello of SSL 2 (RFC
  /// 5246, appendix E.2), which Chromium sends to every WebRTC candidate whose protocol is `ssltcp`.
  private static let firstOfBinary: UInt8 = 0xA0

  /// Decides whether a client's first bytes belong to a foreign protocol.
  ///
  /// - Parameters:
  ///   - letters: the permitted first bytes of text after blanks; `nil` for any printable byte
  ///   - permitsBinary: whether the port also serves receivers' binary protocols. Their messages begin with a byte from
  ///     160 on (UBX, CASIC, RTCM 3). A page cannot make a browser send anything that begins with such a byte
  static func verdict(
    on bytes: some Collection<UInt8>, textBeginsWith letters: [UInt8]? = nil, permitsBinary: Bool = false
  ) -> Verdict {
    // Skip empty lines and blanks: servers accept a request after empty lines, and some after blanks too.
    let bytes = bytes.drop { blanks.contains($0) }
    guard let first = bytes.first else { return .undecided }
    if let letters { return letters.contains(first) ? .other : .foreign }
    if permitsBinary, first >= firstOfBinary { return .other }
    // TLS begins with the byte 22, SSL 2 with one from 128 to 159, and STUN with one below 4.
    guard 0x21...0x7E ~= first else { return .foreign }
    if beginnings.contains(where: { bytes.starts(with: $0) }) { return .foreign }
    guard let afterMethod = bytes.firstIndex(where: { !isOfToken($0) }) else { return .undecided }
    guard afterMethod != bytes.startIndex, bytes[afterMethod] == UInt8(ascii: " ") else { return .other }
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return .undecided }
    return namesVersion(bytes[..<end]) ? .foreign : .other
  }

  /// Whether a byte may be part of a method (RFC 9110, section 5.6.2).
  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: marks.contains(byte)
    }
  }

  private static let marks = Array("!#$%&'*+-.^_`|~".utf8)

  /// Whether a line ends in a protocol and its version: `HTTP/1.1`, or the same form such as `RTSP/1.0`.
  private static func namesVersion(_ line: some Collection<UInt8>) -> Bool {
    var word: [UInt8] = []
    for byte in line where byte != UInt8(ascii: "\r") {
      if byte == UInt8(ascii: " ") { word = [] } else { word.append(byte) }
    }
    let parts = word.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return parts.count == 2 && !parts[0].isEmpty
      && parts[0].allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
      && parts[1].count == 3 && digits.contains(parts[1].first ?? 0)
      && parts[1].dropFirst().first == UInt8(ascii: ".") && digits.contains(parts[1].last ?? 0)
  }
}
