@testable import Outputs

/// The first bytes of a client, and its chosen name.
enum ClientTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    requireSteadyVerdict(input)
    guard let name = ClientName.shown(String(decoding: input, as: UTF8.self)) else { return }
    require(!name.isEmpty && name.utf8.count <= ClientName.byteLimit, "a name of \(name.utf8.count) bytes")
    require(Text.printable(name) == name, "a name in which something hides")
    // Only text in quotes may look like one of the hub's own names.
    require(
      name.utf8.first == UInt8(ascii: "\"") || !name.utf8.contains(0x20),
      "a name of several words without quotes: \(name)")
  }

  /// Once a client's protocol is decided, later bytes do not change it.
  private static func requireSteadyVerdict(_ input: UnsafeBufferPointer<UInt8>) {
    let end = ForeignProtocol.verdict(on: input)
    for count in 0..<min(input.count, 32) {
      let verdict = ForeignProtocol.verdict(on: input[..<count])
      require(verdict == .undecided || verdict == end, "\(verdict) after \(count) bytes, \(end) after all")
    }
  }
}
