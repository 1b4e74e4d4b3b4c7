import NIOCore

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
