import Hub
import Hummingbird
import NIOCore

struct HTTPContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  var address: IPAddress? {
    // Remove the interface that a link-local address has after a percent sign.
    channel.remoteAddress?.ipAddress.flatMap { IPAddress(String($0.prefix { $0 != "%" })) }
  }

  /// The user that a slot is counted for: an account if the client is on this machine and its account is known,
  /// otherwise the client's machine.
  var user: SlotUser {
    guard let address else { return .machine([]) }
    if let client = HTTPContext.end(channel.remoteAddress), let server = HTTPContext.end(channel.localAddress),
      let account = LocalTCPUser.find(of: client, to: server)
    {
      return SlotUser(account: account)
    }
    return .machine(address.machine)
  }

  private static func end(_ end: SocketAddress?) -> TCPAddress? {
    guard let end, let port = end.port,
      let address = end.ipAddress.flatMap({ IPAddress(String($0.prefix { $0 != "%" })) })
    else { return nil }
    return TCPAddress(address: address, port: UInt16(port))
  }

  /// The client, as logs and holders name it.
  var peer: ClientPeer { ClientPeer(of: channel) }
}

extension ClientPeer {
  /// The other end of a connection of the web port.
  init(of channel: any Channel) {
    guard let remote = channel.remoteAddress, let ip = remote.ipAddress, let port = remote.port else {
      self.init(by: "http")
      return
    }
    self.init(host: remote.protocol == .inet6 ? "[\(ip)]" : ip, port: port)
  }
}
