import HardwareIO

/// The address of a server that the hub connects to over TCP, with or without TLS.
public struct ServerAddress: Equatable, Sendable {
  /// A host name, or an address without brackets.
  public var host: String
  public var port: UInt16
  /// Whether TLS is used, with a check of the server's certificate.
  public var isEncrypted: Bool
  /// The file with the certificate authorities for TLS; `nil` for the system's.
  public var caFile: String?

  public init(host: String, port: UInt16, isEncrypted: Bool = false, caFile: String? = nil) {
    self.host = host
    self.port = port
    self.isEncrypted = isEncrypted
    self.caFile = caFile
  }

  /// The host and port: `caster.example:2101`.
  public var authority: String { HostPort.text(host, port) }

  /// The host's IP address; `nil` if the host is a name.
  public var address: IPAddress? { IPAddress(host) }

  /// Whether the server is on this machine.
  public var isLoopback: Bool { host == "localhost" || address?.isLoopback == true }
}
