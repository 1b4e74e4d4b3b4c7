import CTLS
import Glibc
import Hub
import Recording

/// The hub's side of TLS on one connection to a caster, over libssl (`CTLS`), for use on one thread. It has no socket:
/// `CasterConnection` moves the encrypted bytes, so every wait has a limit and ends with a stop request.
///
/// libssl is loaded when the first caster with TLS is visited. It checks the certificate against the host's name and
/// the system's authorities, or those of `caFile`.
final class TLSSession {
  /// The size of a piece in bytes; a TLS record contains at most 16 kB.
  private static let pieceByteCount = 16 * 1024

  private let session: OpaquePointer
  /// Why the caster's bytes have ended; `nil` while more may come.
  private(set) var endReason: CasterError?

  init(to caster: CasterSettings) throws(CasterError) {
    guard ctls_is_available() else { throw .noTLSLibrary }
    if let file = caster.caFile, access(file, R_OK) != 0 {
      throw .unreadableAuthorities(file: file, reason: String(cString: strerror(errno)))
    }
    guard let session = ctls_new(TLSSession.certifiedName(of: caster.host), caster.caFile) else {
      let reason = String(cString: ctls_reason())
      throw caster.caFile.map { .unreadableAuthorities(file: $0, reason: reason) } ?? .noTLS(reason: reason)
    }
    self.session = session
  }

  deinit { ctls_free(session) }

  /// A host's name as certificates and the handshake have it: without the dot that ends a complete name (RFC 6066,
  /// section 3).
  static func certifiedName(of host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

  /// Takes encrypted bytes from the caster.
  func put(_ bytes: [UInt8]) throws(CasterError) {
    if bytes.isEmpty { return }
    guard bytes.withUnsafeBytes({ ctls_put(session, $0.baseAddress, $0.count) }) else {
      throw .noTLS(reason: "no memory")
    }
  }

  /// Returns the encrypted bytes for the caster. Call this after each of the functions below.
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
  /// - Returns: whether it is complete; if not, it needs bytes from the caster
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

  /// Takes encrypted bytes from the caster, and returns the content of all records that are complete.
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

  /// Ends the session. Returns the last bytes for the caster.
  func end() -> [UInt8] {
    ctls_close(session)
    return output()
  }
}

/// The fault of a caster's certificate.
enum CertificateFault: Equatable {
  /// The associated dates have the form `2026-01-31`.
  case notYetValid(from: String)
  case expired(on: String)
  case otherName
  case selfSigned
  case unknownAuthority
  /// The reason in libssl's words.
  case other(String)

  /// The fault in plain words, with the next step.
  func text(of caster: CasterSettings) -> String {
    switch self {
    // A board without a clock starts with an old date. The text has no time, because it would then change each minute.
    case .notYetValid(let date):
      "the caster's certificate is valid only from \(date), and this board's clock says \(CertificateFault.today): "
        + "set the clock"
    case .expired(let date):
      "the caster's certificate was valid until \(date), and this board's clock says \(CertificateFault.today): if the "
        + "clock is wrong, set it; otherwise only the caster's operator can renew the certificate"
    case .otherName:
      "the caster's certificate is not for \(caster.host): set the host in 'ntrip.caster' to a name in the "
        + "certificate, which \(CertificateFault.command(for: caster)) shows"
    case .selfSigned:
      "the caster's certificate is signed by itself, not by an authority: if you trust it, save it "
        + "(\(CertificateFault.command(for: caster)) shows it) and set 'ntrip.caFile' to its file"
    case .unknownAuthority where caster.caFile != nil:
      "no authority in 'ntrip.caFile' vouches for the caster's certificate: use the file of the caster's own "
        + "authority, or leave out 'caFile' if a public authority signed the certificate"
    case .unknownAuthority:
      "no authority that this system trusts vouches for the caster's certificate: set 'ntrip.caFile' to the file of "
        + "its authority; for a public one: sudo apt-get install ca-certificates"
    case .other(let reason): "the caster's certificate is refused: \(reason)"
    }
  }

  private static func command(for caster: CasterSettings) -> String {
    "openssl s_client -connect \(ShellText.word(caster.authority))"
  }

  /// Today's date by this machine's clock, in UTC.
  private static var today: String {
    String(UTCStamp(nanosecondsSince1970: Int64(time(nil)) * 1_000_000_000).extended.prefix("2026-01-31".count))
  }
}
