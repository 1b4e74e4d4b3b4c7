import ArgumentParser
import Hub

/// The address of a page: `8080` for this machine only, `0.0.0.0:8080`, `[::1]:8080`.
struct HTTPAddress: ExpressibleByArgument {
  var socket: TCPAddress

  init?(argument: String) {
    var (host, port) = (Substring("127.0.0.1"), argument[...])
    if let colon = argument.lastIndex(of: ":") {
      (host, port) = (argument[..<colon], argument[argument.index(after: colon)...])
    }
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard let address = IPAddress(String(host)), let number = UInt16(port), number > 0 else { return nil }
    socket = TCPAddress(address: address, port: number)
  }
}
