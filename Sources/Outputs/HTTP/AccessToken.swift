import FoundationEssentials
import HTTPTypes
import Hub

/// The token that gives access to a web port. It is stored in a file, so that no list of processes and no shell history
/// shows it.
struct AccessToken: Equatable {
  enum Failure: Error, CustomStringConvertible {
    case missing
    case unreadable(file: String, reason: String)
    case tooShort(file: String)

    var isMissing: Bool { if case .missing = self { true } else { false } }

    var description: String {
      switch self {
      case .missing:
        "clients on other machines need a token: set 'http.tokenFile' in the board file to its file, or give systemd's "
          + "credential 'http-token'; 'openssl rand -hex 16' creates a token"
      case .unreadable(let file, let reason): "the token cannot be read from \(file): \(reason)"
      case .tooShort(let file): "the token in \(file) has fewer than \(AccessToken.leastLength) characters"
      }
    }
  }

  private static let leastLength = 16
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The token of a port; `nil` for a port without a token.
  ///
  /// - Throws: `.missing` if other machines may connect and there is no token
  static func load(for port: Board.HTTPPort) throws(Failure) -> AccessToken? {
    let token = try load(from: port.tokenFile)
    guard token != nil || port.endpoint.isLoopback else { throw .missing }
    return token
  }

  /// Reads the token from the file or, if no file is named, from systemd's credential; `nil` if there is neither.
  static func load(from file: String?) throws(Failure) -> AccessToken? {
    let found: (file: String, secret: [UInt8])?
    do throws(SecretFile.Failure) {
      found = try SecretFile.read(file, orCredential: "http-token")
    } catch {
      throw .unreadable(file: error.file, reason: error.reason)
    }
    guard let found else { return nil }
    guard found.secret.count >= leastLength else { throw .tooShort(file: found.file) }
    return AccessToken(found.secret)
  }

  /// Whether a request contains the token, as a bearer token or as the password of any user. A browser asks its user
  /// for the password once, and then also sends it with event streams.
  func isBrought(by fields: HTTPFields) -> Bool {
    guard let value = fields[.authorization] else { return false }
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2 else { return false }
    switch words[0].lowercased() {
    case "bearer": return isEqual(Array(words[1].utf8))
    case "basic":
      guard let decoded = Data(base64Encoded: String(words[1])), let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
      else { return false }
      return isEqual(Array(decoded[(colon + 1)...]))
    default: return false
    }
  }

  /// Compares in constant time, so that a nearly right guess takes as long as a wrong one.
  private func isEqual(_ guess: [UInt8]) -> Bool {
    var difference = guess.count ^ bytes.count
    for index in bytes.indices { difference |= Int(bytes[index] ^ (guess.isEmpty ? 0 : guess[index % guess.count])) }
    return difference == 0
  }
}
