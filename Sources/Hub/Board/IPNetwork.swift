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
