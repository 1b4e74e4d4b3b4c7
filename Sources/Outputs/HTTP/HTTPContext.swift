import Hub
import Hummingbird
import NIOCore

/// What is known of a request besides itself.
struct HTTPContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// The address of who asks.
  var address: IPAddress? {
    // A link-local address comes with the interface that it is local to.
    channel.remoteAddress?.ipAddress.flatMap { IPAddress(String($0.prefix { $0 != "%" })) }
  }

  /// Who asks.
  var peer: ClientPeer {
    guard let remote = channel.remoteAddress, let ip = remote.ipAddress, let port = remote.port else {
      return ClientPeer(by: "http")
    }
    return ClientPeer(host: remote.protocol == .inet6 ? "[\(ip)]" : ip, port: port)
  }
}
