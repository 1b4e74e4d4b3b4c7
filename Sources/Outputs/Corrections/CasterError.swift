import HardwareIO
import Hub

/// The reason why a caster gives no corrections.
enum CasterError: Error, Equatable {
  /// A stop request ended the visit, because the receiver is no longer read, or the board file no longer names the
  /// caster.
  case stopped
  case unreadablePassword(file: String, reason: String)
  case unknownHost(reason: String)
  case unreachable(reason: String)
  case silent
  case closed
  /// A chunk of the answer is malformed: the line with its size, or the line end after it.
  case broken
  case unauthorised
  /// The caster has no such mount point. `nearest` holds at most three of its names that are spelled like the requested
  /// one, the best first; `count` is the number of its mount points, 0 if unknown.
  case noSuchMountPoint(nearest: [String], count: Int)
  case moved(to: String)
  case refused(String)
  case noCaster(String)
  /// The caster uses TLS, although the board file says that it does not.
  case usesTLS
  /// libssl is not installed.
  case noTLSLibrary
  case unreadableAuthorities(file: String, reason: String)
  /// The TLS handshake failed for a reason other than the certificate.
  case noTLS(reason: String)
  case certificate(CertificateFault)
  case noCorrections

  /// Whether only the owner of the board or of the caster can solve this. Prompt retries would only burden the
  /// caster.
  var isRefusal: Bool {
    switch self {
    case .stopped, .unknownHost, .unreachable, .silent, .closed, .broken, .noTLS: false
    case .unreadablePassword, .unauthorised, .noSuchMountPoint, .moved, .refused, .noCaster, .usesTLS, .noTLSLibrary,
      .unreadableAuthorities, .certificate, .noCorrections:
      true
    }
  }

  /// The error in plain words, with the next step.
  func text(of caster: CasterSettings) -> String {
    "no corrections from \(caster): \(reason(of: caster))"
  }

  /// The address of a redirection in the form that the board file takes; `nil` for another kind of address.
  private static func address(ofMoved place: String) -> String? {
    let schemes: [(String, String, UInt16)] = [("https://", "ntrips://", 443), ("http://", "ntrip://", 80)]
    for (web, scheme, usualPort) in schemes {
      guard place.lowercased().hasPrefix(web) else { continue }
      let rest = place.dropFirst(web.count)
      let host = rest.prefix { $0 != "/" }
      let mountPoint = rest.dropFirst(host.count + 1)
      // The board file takes the text in quotes, so it must not have any, nor an escape.
      let isPlain = mountPoint.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
      guard let found = HostPort(host), isPlain, (1...128).contains(mountPoint.utf8.count) else { return nil }
      return "\(scheme)\(HostPort.text(found.host, found.port ?? usualPort))/\(mountPoint)"
    }
    return nil
  }

  private func reason(of caster: CasterSettings) -> String {
    switch self {
    case .stopped: "no client needs the receiver"
    case .unreadablePassword(let file, let reason): "'ntrip.passwordFile' cannot be read from \(file): \(reason)"
    case .unknownHost(let reason): "the host \(caster.host) is unknown: \(reason)"
    case .unreachable(let reason): "cannot connect: \(reason)"
    case .silent: "the caster does not answer"
    case .closed: "the caster closed the connection"
    case .broken: "the caster's data is damaged"
    case .unauthorised:
      caster.username.map {
        "the caster refused user \($0): check the password, and whether the account may use this mount point"
      }
        ?? "the caster needs a user and a password: set the user in 'ntrip.caster' (ntrip://user@…) and the password in 'ntrip.passwordFile'"
    case .noSuchMountPoint(let nearest, let count):
      "the caster has no mount point \(caster.mountPoint)"
        + (nearest.isEmpty
          ? count == 0 ? "" : ", and none of its \(count) mount points has a similar name"
          : ": did you mean \(nearest.joined(separator: ", "))?")
    case .moved(let place):
      if let address = CasterError.address(ofMoved: place) {
        "the caster has moved: if you trust the new address, set 'ntrip.caster' to \(address)"
      } else {
        "the caster has moved\(place.isEmpty ? "" : " to \(place)"): ask its operator for the new address, and set "
          + "'ntrip.caster' to it"
      }
    case .refused(let text): "the caster answered '\(text)'"
    case .noCaster(let text):
      "the server there is not an NTRIP caster\(text.isEmpty ? "" : ": it answered '\(text)'"); 2101 is the usual port"
    case .usesTLS: "this port uses TLS: write ntrips:// instead of ntrip:// in 'ntrip.caster'"
    case .noTLSLibrary: "libssl, the library for TLS, is not installed: sudo apt-get install libssl3"
    case .unreadableAuthorities(let file, let reason): "'ntrip.caFile' cannot be read from \(file): \(reason)"
    case .noTLS(let reason):
      "no TLS connection: \(reason); check whether port \(caster.port) uses TLS: 443 is the usual port, and "
        + "ntrip:// is without TLS"
    case .certificate(let fault): fault.text(of: caster.server, .caster)
    case .noCorrections: "the data is not RTCM 3: choose a mount point whose format is RTCM 3"
    }
  }
}
