/// An end of a TCP connection, or a listening socket: `127.0.0.1:2947`, `[::1]:2947`.
public struct TCPAddress: Equatable, Sendable {
  public var address: IPAddress
  public var port: UInt16

  public init(address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}

extension TCPAddress: CustomStringConvertible {
  public var description: String { "\(host):\(port)" }

  /// The address in the form before a port: `127.0.0.1`, `[::1]`.
  public var host: String { address.bytes.count == 4 ? "\(address)" : "[\(address)]" }
}
