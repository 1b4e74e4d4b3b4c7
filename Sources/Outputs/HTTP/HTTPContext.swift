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

  /// Who asks: `127.0.0.1:40022`.
  var peer: String {
    guard let address = channel.remoteAddress, let ip = address.ipAddress, let port = address.port else {
      return "http"
    }
    return address.protocol == .inet6 ? "[\(ip)]:\(port)" : "\(ip):\(port)"
  }
}
