import CTLS
import Glibc
import Hub
import Recording

/// The hub's side of TLS on one connection to a server, over libssl (`CTLS`), for use on one thread. It has no socket:
/// `ServerConnection` moves the encrypted bytes, so every wait has a limit, and a stop request ends it.
///
/// libssl is loaded for the first connection with TLS. It checks the certificate against the host's name and
/// the system's authorities, or those of `caFile`.
final class TLSSession {
  /// The size of a piece in bytes; a TLS record contains at most 16 kB.
  private static let pieceByteCount = 16 * 1024

  private let session: OpaquePointer
  /// Why the server's bytes have ended; `nil` while more may come.
  private(set) var endReason: CasterError?

  init(to server: ServerAddress) throws(CasterError) {
    guard ctls_is_available() else { throw .noTLSLibrary }
    if let file = server.caFile, access(file, R_OK) != 0 {
      throw .unreadableAuthorities(file: file, reason: String(cString: strerror(errno)))
    }
    guard let session = ctls_new(TLSSession.certifiedName(of: server.host), server.caFile) else {
      let reason = String(cString: ctls_reason())
      throw server.caFile.map { .unreadableAuthorities(file: $0, reason: reason) } ?? .noTLS(reason: reason)
    }
    self.session = session
  }

  deinit { ctls_free(session) }

  /// A host's name in the form that certificates and the handshake use: without the dot at the end of a fully qualified
  /// name (RFC 6066, section 3).
  static func certifiedName(of host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

  /// Passes encrypted bytes from the server to libssl.
  func put(_ bytes: [UInt8]) throws(CasterError) {
    if bytes.isEmpty { return }
    guard bytes.withUnsafeBytes({ ctls_put(session, $0.baseAddress, $0.count) }) else {
      throw .noTLS(reason: "no memory")
    }
  }

  /// Returns the encrypted bytes for the server. Call this after each of the functions below.
  func output() -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let piece = [UInt8](unsafeUninitializedCapacity: TLSSession.pieceByteCount) { buffer, count in
        count = ctls_take(session, buffer.baseAddress, buffer.count)
      }
      if piece.isEmpty { return all }
      all += piece
    }
  }

  /// Continues the handshake.
  ///
  /// - Returns: whether it is complete; if not, it needs bytes from the server
  func shakeHands() throws(CasterError) -> Bool {
    let result = ctls_handshake(session)
    if result >= 0 { return result == 1 }
    let (date, reason) = (String(cString: ctls_certificate_date(session)), String(cString: ctls_reason()))
    switch ctls_certificate_fault(session) {
    case CTLS_NO_FAULT: throw .noTLS(reason: reason.isEmpty ? "the handshake failed" : reason)
    case CTLS_NOT_YET_VALID: throw .certificate(.notYetValid(from: date))
    case CTLS_EXPIRED: throw .certificate(.expired(on: date))
    case CTLS_OTHER_NAME: throw .certificate(.otherName)
    case CTLS_SELF_SIGNED: throw .certificate(.selfSigned)
    case CTLS_UNKNOWN_AUTHORITY: throw .certificate(.unknownAuthority)
    default: throw .certificate(.other(reason))
    }
  }

  func encrypt(_ bytes: [UInt8]) throws(CasterError) {
    if bytes.isEmpty { return }
    guard bytes.withUnsafeBytes({ ctls_write(session, $0.baseAddress, $0.count) }) else { throw .closed }
  }

  /// Decrypts bytes from the server. Returns the content of all records that are complete.
  func decrypt(_ encrypted: [UInt8]) throws(CasterError) -> [UInt8] {
    try put(encrypted)
    var all: [UInt8] = []
    while true {
      var result = 0
      let piece = [UInt8](unsafeUninitializedCapacity: TLSSession.pieceByteCount) { buffer, count in
        result = ctls_read(session, buffer.baseAddress, buffer.count)
        count = max(0, result)
      }
      all += piece
      if result > 0 { continue }
      if result < 0 { endReason = result == -1 ? .closed : .broken }
      // If content arrived before the end, return it first. The next call throws the reason of the end.
      if all.isEmpty, let endReason { throw endReason }
      return all
    }
  }

  /// Ends the session. Returns the last bytes for the server.
  func end() -> [UInt8] {
    ctls_close(session)
    return output()
  }
}

/// The reason why a server's certificate is refused.
enum CertificateFault: Equatable {
  /// The associated dates have the form `2026-01-31`.
  case notYetValid(from: String)
  case expired(on: String)
  case otherName
  case selfSigned
  case unknownAuthority
  /// The reason in libssl's words.
  case other(String)

  /// The words of a message: the name for the server, and its keys in the board file.
  struct Words {
    static let caster = Words(server: "caster", addressKey: "ntrip.caster", authoritiesKey: "ntrip.caFile")

    var server: String
    var addressKey: String
    var authoritiesKey: String
  }

  /// The fault in plain words, with the next step.
  func text(of server: ServerAddress, _ words: Words) -> String {
    let certificate = "the \(words.server)'s certificate"
    return switch self {
    // A board without a clock starts with an old date. The text has no time, because it would then change each minute.
    case .notYetValid(let date):
      "\(certificate) is valid only from \(date), and this board's clock says \(CertificateFault.today): set the clock"
    case .expired(let date):
      "\(certificate) was valid until \(date), and this board's clock says \(CertificateFault.today): if the clock is "
        + "wrong, set it; otherwise only the \(words.server)'s operator can renew the certificate"
    case .otherName:
      "\(certificate) is not for \(server.host): set the host in '\(words.addressKey)' to a name in the certificate, "
        + "which \(CertificateFault.command(for: server)) shows"
    case .selfSigned:
      "\(certificate) is signed by itself, not by an authority: if you trust it, save it "
        + "(\(CertificateFault.command(for: server)) shows it) and set '\(words.authoritiesKey)' to its file"
    case .unknownAuthority where server.caFile != nil:
      "no authority in '\(words.authoritiesKey)' vouches for \(certificate): use the file of the \(words.server)'s own "
        + "authority, or leave out 'caFile' if a public authority signed the certificate"
    case .unknownAuthority:
      "no authority that this system trusts vouches for \(certificate): set '\(words.authoritiesKey)' to the file of "
        + "its authority; for a public one: sudo apt-get install ca-certificates"
    case .other(let reason): "\(certificate) is refused: \(reason)"
    }
  }

  private static func command(for server: ServerAddress) -> String {
    "openssl s_client -connect \(ShellText.word(server.authority))"
  }

  /// Today's date by this machine's clock, in UTC.
  private static var today: String {
    String(UTCStamp(nanosecondsSince1970: Int64(time(nil)) * 1_000_000_000).extended.prefix("2026-01-31".count))
  }
}
