import Hub

/// The reason why no values go to a Signal K server.
enum SignalKServerError: Error, Equatable {
  case connection(CasterError)
  case handshake(WebSocketHandshake.Failure)
  case unreadableToken(file: String, reason: String)
  /// The server has ended the WebSocket, with this status.
  case left(UInt16?)
  case broken
  /// The server sends far more than a client without subscriptions should receive.
  case floods
  /// An administrator of the server has not decided yet on the access request of the hub, which has this name.
  case pending(String)
  case denied(String)
  /// The server does not take the access request. The text is the server's own, printable; empty for none.
  case accessRefused(String)
  /// The server no longer accepts the token that it has given to the hub.
  case withdrawn

  var isStop: Bool { self == .connection(.stopped) }

  /// Whether only a person can solve this, so that prompt retries would only burden the server.
  var isRefusal: Bool {
    switch self {
    case .connection(let error): error.isRefusal
    case .pending: false
    case .left(let status): status == SignalKServerError.policyViolation
    case .handshake, .unreadableToken, .broken, .floods, .denied, .accessRefused, .withdrawn: true
    }
  }

  /// Whether the hub does not try again before its next start.
  var isFinal: Bool { if case .denied = self { true } else { false } }

  private static let policyViolation: UInt16 = 1008

  /// The error in plain words, with the next step.
  func text(of server: SignalKServer) -> String { "Signal K: no values go to \(server): \(reason(of: server))" }

  private func reason(of server: SignalKServer) -> String {
    switch self {
    case .connection(let error): SignalKServerError.reason(error, of: server)
    case .handshake(.noWebSocket(let text)):
      "the server there is no Signal K server with a WebSocket\(text.isEmpty ? "" : ": it answered '\(text)'"); "
        + "3000 is the usual port"
    case .handshake(.unauthorised):
      server.tokenFile == nil
        ? "the server demands a token: set '\(server.key).tokenFile' to the file of a token that may write"
        : "the server refused the token: create a new token on the server, with the right to write"
    case .handshake(.moved(let place)): "the server has moved to \(place): change '\(server.key).server'"
    case .unreadableToken(let file, let reason): "'\(server.key).tokenFile' cannot be read from \(file): \(reason)"
    case .left(let status): "the server ended the connection\(status.map { " (\($0))" } ?? "")"
    case .broken: "the server breaks the WebSocket protocol"
    case .pending(let name):
      "approve '\(name)' in the server's Security / Access Requests, with the permission Read/Write"
    case .denied(let name):
      "the server's administrator denied the access request of '\(name)': to repeat it, restart the hub, or set "
        + "'\(server.key).tokenFile'"
    case .accessRefused(let text):
      text.isEmpty
        ? "the server takes no access requests: allow them in the server's Security / Settings, or set "
          + "'\(server.key).tokenFile'"
        : "the server refused the access request ('\(text)'): look into the server's Security / Access Requests, or set "
          + "'\(server.key).tokenFile'"
    case .withdrawn: "the server no longer accepts the token that it gave to this hub: the hub requests access"
    case .floods: "the server sends much more than a Signal K server sends to a client without subscriptions"
    }
  }

  private static func reason(_ error: CasterError, of server: SignalKServer) -> String {
    let address = server.address
    return switch error {
    case .unknownHost(let reason): "the host \(address.host) is unknown: \(reason)"
    case .unreachable(let reason): "cannot connect: \(reason)"
    case .silent: "the server does not answer"
    case .noTLSLibrary: "libssl, the library for TLS, is not installed: sudo apt-get install libssl3"
    case .unreadableAuthorities(let file, let reason): "'\(server.key).caFile' cannot be read from \(file): \(reason)"
    case .noTLS(let reason): "no TLS connection: \(reason); check whether port \(address.port) uses TLS"
    case .certificate(let fault):
      fault.text(
        of: address,
        CertificateFault.Words(
          server: "server", addressKey: "\(server.key).server", authoritiesKey: "\(server.key).caFile"))
    default: "the server closed the connection"
    }
  }
}
