import CLinux
import Glibc
import Hub
import NIOCore
import NIOHTTPTypes

/// Readies a connection, and ends it where it is not admitted or sends more than anybody needs to.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  /// Nothing that is served here takes more than a few parameters.
  private static let bodyLimit = 64 * 1024

  private let port: Board.HTTPPort
  private let connections: HTTPConnections
  private var bodySize = 0

  init(_ port: Board.HTTPPort, connections: HTTPConnections) {
    self.port = port
    self.connections = connections
  }

  func channelInactive(context: ChannelHandlerContext) {
    connections.closed(context.channel)
    context.fireChannelInactive()
  }

  func handlerAdded(context: ChannelHandlerContext) {
    guard let options = context.channel.syncOptions else { return }
    try? options.setOption(.writeBufferWaterMark, value: .init(low: 4096, high: 16384))
    for (level, name, value) in TCPSocket.options {
      let option = ChannelOptions.Types.SocketOption(level: .init(rawValue: level), name: .init(rawValue: name))
      try? options.setOption(option, value: SocketOptionValue(value))
    }
  }

  func channelActive(context: ChannelHandlerContext) {
    let text = context.channel.remoteAddress?.ipAddress ?? ""
    // A link-local address comes with the interface that it is local to.
    guard let address = IPAddress(String(text.prefix { $0 != "%" })), port.admits(address) else {
      connections.refused()
      context.close(promise: nil)
      return
    }
    connections.opened(context.channel)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      bodySize = 0
      connections.asked(context.channel)
    case .end: bodySize = 0
    case .body(let bytes): bodySize += bytes.readableBytes
    }
    guard bodySize <= HTTPConnection.bodyLimit else {
      context.close(promise: nil)
      return
    }
    context.fireChannelRead(data)
  }
}

extension TCPSocket {
  /// Says for how long a client may take nothing while something waits for it.
  static func set(_ patience: Duration, of channel: any Channel) {
    let (level, name, value) = TCPSocket.patience(patience)
    let option = ChannelOptions.Types.SocketOption(level: .init(rawValue: level), name: .init(rawValue: name))
    channel.setOption(option, value: SocketOptionValue(value)).whenComplete { _ in }
  }
}
