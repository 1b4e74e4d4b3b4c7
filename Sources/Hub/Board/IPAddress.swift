import Glibc

/// An IPv4 or IPv6 address.
public struct IPAddress: Equatable, Sendable {
  /// The 4 or 16 bytes, the most significant first.
  public let bytes: [UInt8]

  /// Reads the usual notations; `nil` for anything else, including host names.
  public init?(_ text: String) {
    // The system's parser stops at a NUL, and ignores the text after it.
    if text.utf8.contains(0) { return nil }
    for (family, size) in [(AF_INET, 4), (AF_INET6, 16)] {
      var buffer = [UInt8](repeating: 0, count: size)
      if inet_pton(family, text, &buffer) == 1 {
        self.init(bytes: buffer)
        return
      }
    }
    return nil
  }

  /// An IPv4-mapped IPv6 address, as an IPv6 socket reports it, becomes the IPv4 address.
  public init(bytes: [UInt8]) {
    let isMapped = bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
    self.bytes = isMapped ? Array(bytes[12...]) : bytes
  }

  /// Every IPv4 address of this machine.
  public static let anyIPv4 = IPAddress(bytes: [UInt8](repeating: 0, count: 4))
  /// Every address of this machine, IPv4 included.
  public static let anyIPv6 = IPAddress(bytes: [UInt8](repeating: 0, count: 16))

  /// The loopback address, `127.0.0.1`.
  public static let loopbackIPv4 = IPAddress(bytes: [127, 0, 0, 1])

  /// The part that usually identifies one machine: an IPv4 address, or the first 64 bits of an IPv6 address. A machine
  /// may choose the last 64 bits freely (RFC 4291, section 2.5.4). A link-local address counts as a whole, because only
  /// its last 64 bits distinguish it.
  public var machine: [UInt8] {
    let isLinkLocal = bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
    return bytes.count == 4 || isLoopback || isLinkLocal ? bytes : Array(bytes[..<8])
  }

  /// Whether the address is this machine's loopback.
  public var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
  }
}

extension IPAddress: CustomStringConvertible {
  public var description: String {
    var text = [CChar](repeating: 0, count: 64)
    inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, 64)
    return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }
}

/// The addresses with a common prefix: `192.168.1.0/24`.
public struct IPNetwork: Equatable, Sendable {
  public let address: IPAddress
  public let prefixLength: Int

  /// Reads a network. An address without a length is a network of one address.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(String(parts[0])) else { return nil }
    let width = address.bytes.count * 8
    guard let length = parts.count == 1 ? width : Int(parts[1]), (0...width).contains(length) else { return nil }
    self.address = address
    prefixLength = length
  }

  public func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    return (0..<prefixLength).allSatisfy { bit in
      let difference: UInt8 = address.bytes[bit / 8] ^ other.bytes[bit / 8]
      let mask: UInt8 = 0x80 >> UInt8(bit % 8)
      return difference & mask == 0
    }
  }
}

extension IPNetwork: CustomStringConvertible {
  public var description: String { "\(address)/\(prefixLength)" }
}

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
