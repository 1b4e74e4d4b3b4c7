import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// A connection to a Signal K server: its stream over WebSocket without subscriptions, or its TCP port. For use on one
/// thread.
struct SignalKConnection: ~Copyable {
  /// The time limits of a connection.
  struct Patience {
    /// The limit for connecting to each of the host's addresses.
    var connection = Duration.seconds(10)
    /// The limit for each handshake, and for each wait until the server takes more bytes.
    var answer = Duration.seconds(15)
    /// How long the server may leave bytes without acknowledgement.
    var silence = Duration.seconds(30)
  }

  private static let path = SignalKServer.streamPath + "?subscribe=none"
  /// The maximum number of received bytes in a minute. A server has no reason to send more than its hello and pings.
  private static let mostBytesAMinute = 64 * 1024

  private let connection: ServerConnection
  private let patience: Patience
  private let clock: any MonotonicTimeSource
  /// The reader of the server's frames; `nil` over TCP, where the hub drops all received bytes.
  private var reader: WebSocketReader?
  private var minute: MonotonicInstant
  private var bytesOfMinute = 0

  /// Connects to a server.
  ///
  /// - Parameters:
  ///   - token: the server's token; `nil` for none
  ///   - version: the version of this program
  static func open(
    to server: SignalKServer, token: String?, version: String, _ poller: Poller, _ patience: Patience,
    _ clock: any MonotonicTimeSource
  ) throws(SignalKServerError) -> SignalKConnection {
    var made = SignalKConnection(try connection(to: server, poller, patience, clock), patience, clock)
    guard server.transport != .tcp else { return made }
    var handshake = WebSocketHandshake()
    try made.write(handshake.request(path, of: server.address, token: token, version: version))
    made.reader = WebSocketReader()
    try made.finish(&handshake)
    return made
  }

  /// Sends one HTTP request on a connection of its own, and returns the answer.
  static func ask(
    _ request: [UInt8], of server: SignalKServer, _ poller: Poller, _ patience: Patience,
    _ clock: any MonotonicTimeSource
  ) throws(SignalKServerError) -> SignalKAnswer {
    var made = SignalKConnection(try connection(to: server, poller, patience, clock), patience, clock)
    try made.write(request)
    let deadline = clock.now + patience.answer
    var answer = SignalKAnswer()
    while !answer.isOver {
      guard case let left = deadline - clock.now, left > .zero else { throw .connection(.silent) }
      do throws(SignalKServerError) {
        try answer.take(try made.read(atMost: left))
      } catch {
        // The end of the connection ends a body without a length.
        if error == .connection(.closed), answer.status != nil { return answer }
        throw error
      }
    }
    return answer
  }

  private init(_ connection: consuming ServerConnection, _ patience: Patience, _ clock: any MonotonicTimeSource) {
    self.connection = connection
    self.patience = patience
    self.clock = clock
    minute = clock.now
  }

  /// Returns a connection over which the first request can be sent.
  private static func connection(
    to server: SignalKServer, _ poller: Poller, _ patience: Patience, _ clock: any MonotonicTimeSource
  ) throws(SignalKServerError) -> ServerConnection {
    do throws(CasterError) {
      let connection = try ServerConnection(to: server.address, poller, within: patience.connection)
      connection.limitSilence(to: patience.silence)
      try connection.shakeHands(within: patience.answer, clock)
      return connection
    } catch {
      throw .connection(error)
    }
  }

  /// Waits for the server's answer to a request for a WebSocket.
  private mutating func finish(_ handshake: inout WebSocketHandshake) throws(SignalKServerError) {
    let deadline = clock.now + patience.answer
    while true {
      guard case let left = deadline - clock.now, left > .zero else { throw .connection(.silent) }
      let bytes = try read(atMost: left)
      let rest: ArraySlice<UInt8>?
      do throws(WebSocketHandshake.Failure) {
        rest = try handshake.take(bytes)
      } catch {
        throw .handshake(error)
      }
      guard let rest else { continue }
      try obey(rest)
      return
    }
  }

  /// Sends a message, and waits until the server takes it.
  borrowing func send(_ message: [UInt8]) throws(SignalKServerError) {
    try write(reader == nil ? message : WebSocketFrame.encode(.text, message))
  }

  /// Waits until the server sends something or a signal is raised, and handles the server's frames.
  mutating func wait(or signal: WakeSignal) throws(SignalKServerError) {
    try obey(try read(atMost: nil, or: signal)[...])
  }

  /// Tells the server that the hub leaves, unless that would have to wait.
  borrowing func leave() {
    if reader != nil { try? connection.send(WebSocketFrame.encode(.close, WebSocketFrame.goingAway), within: .zero) }
  }

  private mutating func obey(_ bytes: ArraySlice<UInt8>) throws(SignalKServerError) {
    let events: [WebSocketReader.Event]
    do throws(WebSocketReader.Broken) {
      events = try reader?.take(bytes) ?? []
    } catch {
      throw .broken
    }
    for event in events {
      switch event {
      case .ping(let content): try write(WebSocketFrame.encode(.pong, content))
      case .close(let status):
        leave()
        throw .left(status)
      }
    }
  }

  private borrowing func write(_ bytes: [UInt8]) throws(SignalKServerError) {
    do throws(CasterError) {
      try connection.send(bytes, within: patience.answer)
    } catch {
      throw .connection(error)
    }
  }

  private mutating func read(atMost limit: Duration?, or signal: WakeSignal? = nil) throws(SignalKServerError)
    -> [UInt8]
  {
    let received: ServerConnection.Received
    do throws(CasterError) {
      received = try connection.receive(atMost: limit, or: signal)
    } catch {
      throw .connection(error)
    }
    if clock.now - minute >= .seconds(60) { (minute, bytesOfMinute) = (clock.now, 0) }
    bytesOfMinute += received.count
    if bytesOfMinute > SignalKConnection.mostBytesAMinute { throw .floods }
    return received.bytes
  }
}
