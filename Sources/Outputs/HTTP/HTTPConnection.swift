import CLinux
import Glibc
import Guarding
import Hub
import NIOCore
import NIOHTTPTypes

/// Sets the options of a connection, and closes it if its client is not admitted, makes no progress, or sends a body
/// that is too long.
final class HTTPConnection: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// The longest request body in bytes. No route needs more than a few parameters.
  private static let bodyLimit = 64 * 1024

  private let admits: @Sendable (IPAddress) -> Bool
  private let connections: HTTPConnections
  private let sent = SentBytes()
  /// The client's address, once it is connected.
  private var address: IPAddress?
  private var patience: ConnectionPatience
  private var bodySize = 0
  /// The time of the next check, and what cancels it.
  private var nextLook: (at: NIODeadline, cancel: Callback)?

  /// - Parameter admits: whether a client may connect now
  init(admits: @escaping @Sendable (IPAddress) -> Bool, connections: HTTPConnections) {
    self.admits = admits
    self.connections = connections
    patience = ConnectionPatience(connections.patience, at: connections.timer.now())
  }

  func channelInactive(context: ChannelHandlerContext) {
    stopLooking()
    connections.closed(context.channel)
    context.fireChannelInactive()
  }

  func handlerAdded(context: ChannelHandlerContext) {
    // `sent` must be next to the socket, after every handler that produces bytes of an answer.
    try? context.pipeline.syncOperations.addHandler(sent, position: .first)
    guard let options = context.channel.syncOptions else { return }
    try? options.setOption(.writeBufferWaterMark, value: .init(low: 4096, high: 16384))
    for (level, name, value) in TCPSocket.options {
      let option = ChannelOptions.Types.SocketOption(level: .init(rawValue: level), name: .init(rawValue: name))
      try? options.setOption(option, value: SocketOptionValue(value))
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { stopLooking() }

  func channelActive(context: ChannelHandlerContext) {
    let text = context.channel.remoteAddress?.ipAddress ?? ""
    // Remove the interface that a link-local address has after a percent sign.
    guard let address = IPAddress(String(text.prefix { $0 != "%" })), admits(address) else {
      connections.refused()
      context.close(promise: nil)
      return
    }
    self.address = address
    connections.opened(context.channel)
    look(context)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let now = connections.timer.now()
    switch unwrapInboundIn(data) {
    case .head:
      // A reload may have changed the permitted networks.
      guard let address, admits(address) else {
        connections.refused()
        context.close(promise: nil)
        return
      }
      bodySize = 0
      connections.asked(context.channel)
      patience.heard(isHead: true, isEnd: false, at: now)
    case .end:
      bodySize = 0
      patience.heard(isHead: false, isEnd: true, at: now)
    case .body(let bytes):
      bodySize += bytes.readableBytes
      patience.heard(isHead: false, isEnd: false, at: now)
    }
    guard bodySize <= HTTPConnection.bodyLimit else {
      context.close(promise: nil)
      return
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let isEnd = if case .end = unwrapOutboundIn(data) { true } else { false }
    context.write(data, promise: promise)
    guard isEnd else { return }
    patience.answered()
    look(context)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if !context.channel.isWritable { look(context) }
    context.fireChannelWritabilityChanged()
  }

  // MARK: Progress

  /// Checks whether the connection makes progress, and schedules the next check.
  private func look(_ context: ChannelHandlerContext) {
    guard let waiting = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes) else { return }
    let outgoing = ConnectionPatience.Outgoing(
      takenCount: sent.count - waiting, waitingCount: waiting, isStream: connections.isStream(context.channel))
    switch patience.verdict(on: outgoing, at: connections.timer.now()) {
    case .goesOn(let end): lookAgain(at: end, context)
    case .isSilent: context.close(promise: nil)
    case .isStalled:
      connections.stalled(context.channel, waiting: waiting)
      context.close(promise: nil)
    }
  }

  private func lookAgain(at end: NIODeadline?, _ context: ChannelHandlerContext) {
    guard let end else { return stopLooking() }
    // If an earlier check is scheduled, it is enough: it will schedule this one.
    if let nextLook, nextLook.at <= end { return }
    stopLooking()
    let check = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let cancel = connections.timer.schedule(context.eventLoop, end) {
      let (connection, context) = check.value
      connection.nextLook = nil
      connection.look(context)
    }
    nextLook = (end, cancel)
  }

  private func stopLooking() {
    nextLook?.cancel()
    nextLook = nil
  }
}

/// Counts the bytes that are written to a connection, as they go to the socket.
final class SentBytes: ChannelOutboundHandler {
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private(set) var count = 0

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    count += unwrapOutboundIn(data).readableBytes
    context.write(data, promise: promise)
  }
}
