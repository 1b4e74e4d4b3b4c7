import Hub

/// Addresses and networks in the notation of board files, and addresses of clients.
enum AddressTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    let text = String(decoding: input, as: UTF8.self)
    if let address = IPAddress(text) {
      require(IPAddress("\(address)") == address, "\(address) is not read back")
      require(text.utf8.allSatisfy { 0x20..<0x7f ~= $0 }, "\(address) with something behind it")
      require(!address.machine.isEmpty, "\(address) is of no machine")
      require(TCPAddress(address: address, port: 1).description.hasSuffix(":1"), "\(address) without its port")
    }
    if let network = IPNetwork(text) {
      require(IPNetwork("\(network)") == network, "\(network) is not read back")
      require(network.contains(network.address), "\(network) without its own address")
      if let any = IPAddress(network.address.bytes.count == 4 ? "8.8.8.8" : "2001:db8::1") { _ = network.contains(any) }
    }
  }
}
