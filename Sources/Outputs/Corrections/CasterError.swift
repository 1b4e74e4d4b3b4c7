import Hub

/// The reason why a caster gives no corrections.
enum CasterError: Error, Equatable {
  /// The connection was stopped, because the receiver is no longer read.
  case stopped
  case unreadablePassword(file: String, reason: String)
  case unknownHost(reason: String)
  case unreachable(reason: String)
  case silent
  case closed
  /// The sizes of the answer's chunks are malformed.
  case broken
  case unauthorised
  /// The caster has no such mount point. `nearest` holds its names that are spelled most alike, the best first;
  /// `count` is the number of its mount points.
  case noSuchMountPoint(nearest: [String], count: Int)
  case moved(to: String)
  case refused(String)
  case noCaster(String)
  case usesTLS
  case noCorrections

  /// Whether only the owner of the board or of the caster can solve this. Prompt retries would only burden the
  /// caster.
  var isRefusal: Bool {
    switch self {
    case .stopped, .unknownHost, .unreachable, .silent, .closed, .broken: false
    case .unreadablePassword, .unauthorised, .noSuchMountPoint, .moved, .refused, .noCaster, .usesTLS, .noCorrections:
      true
    }
  }

  /// The error in plain words, with the next step.
  func text(of caster: CasterSettings) -> String {
    "no corrections from \(caster): \(reason(of: caster))"
  }

  private func reason(of caster: CasterSettings) -> String {
    switch self {
    case .stopped: "the receiver is not wanted"
    case .unreadablePassword(let file, let reason): "'ntrip.passwordFile' cannot be read from \(file): \(reason)"
    case .unknownHost(let reason): "\(caster.host) is not known: \(reason)"
    case .unreachable(let reason): "it cannot be connected to: \(reason)"
    case .silent: "it says nothing"
    case .closed: "it has closed the connection"
    case .broken: "its data is damaged"
    case .unauthorised:
      caster.username.map {
        "it does not let in \($0): is the password right, and may the account have this mount point?"
      }
        ?? "it wants a user and a password: ntrip://user@… and 'ntrip.passwordFile'"
    case .noSuchMountPoint(let nearest, let count):
      "it has no mount point \(caster.mountPoint)"
        + (nearest.isEmpty
          ? count == 0 ? "" : ", and of its \(count) none that is called so nearly"
          : ": did you mean \(nearest.joined(separator: ", "))?")
    case .moved(let place): "it has moved to \(place): name that as 'ntrip.caster'"
    case .refused(let text): "it answers '\(text)'"
    case .noCaster(let text):
      "what listens there is no NTRIP caster\(text.isEmpty ? "" : ": it says '\(text)'"); 2101 is the usual port"
    case .usesTLS: "it speaks TLS there, which the hub does not: casters have another port without, 2101 as a rule"
    case .noCorrections: "the data is no RTCM 3: choose a mount point whose format is RTCM 3"
    }
  }
}
