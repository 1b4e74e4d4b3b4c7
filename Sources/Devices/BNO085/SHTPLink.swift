import HardwareIO
import MonotonicTime

/// Packets of SHTP to and from a chip on an I2C bus, through buffers that are allocated once.
///
/// There are no registers, and a write and a read never share a transaction. A packet is read twice: first only its
/// header, for the length, and then all of it from the beginning, in pieces if the bus allows only short reads. Each
/// piece begins with its own header, which counts the remaining bytes.
final class SHTPLink {
  enum Arrival {
    case nothing
    /// The bytes are not a packet, or the headers of its pieces do not match.
    case garbled
    /// A packet. Its cargo has at least one byte, and is valid until the next call.
    case packet(channel: UInt8, cargo: UnsafeRawBufferPointer)
  }

  /// The capacity for a packet to send. The longest is Set Feature, with 21 bytes.
  private static let longestSent = 32

  /// When the latest header was read.
  private(set) var headerAt = MonotonicInstant(nanoseconds: 0)

  private let bus: any I2CBus
  private let address: UInt8
  private let clock: any MonotonicTimeSource
  private let outgoing: UnsafeMutableRawBufferPointer
  private let incoming: UnsafeMutableRawBufferPointer
  private let cargo: UnsafeMutableRawBufferPointer
  private let operations: UnsafeMutableBufferPointer<I2COperation>
  /// The sequence number of the next packet to each channel.
  private var sequences = InlineArray<6, UInt8>(repeating: 0)

  init(_ bus: any I2CBus, address: UInt8, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.bus = bus
    self.address = address
    self.clock = clock
    outgoing = .allocate(byteCount: SHTPLink.longestSent, alignment: 8)
    incoming = .allocate(byteCount: SHTPHeader.longestPacket, alignment: 8)
    cargo = .allocate(byteCount: SHTPHeader.longestPacket, alignment: 8)
    operations = .allocate(capacity: 1)
    operations.initialize(repeating: .write(UnsafeRawBufferPointer(outgoing)))
  }

  deinit {
    outgoing.deallocate()
    incoming.deallocate()
    cargo.deallocate()
    operations.deallocate()
  }

  /// Sends a packet.
  ///
  /// - Parameters:
  ///   - count: the number of bytes of cargo
  ///   - fill: writes the cargo over zeros
  func send(
    on channel: UInt8, count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(HardwareError) {
    let packet = UnsafeMutableRawBufferPointer(rebasing: outgoing[..<(SHTPHeader.length + count)])
    for index in packet.indices { packet[index] = 0 }
    packet[0] = UInt8(packet.count)
    packet[2] = channel
    packet[3] = sequences[Int(channel)]
    sequences[Int(channel)] &+= 1
    fill(UnsafeMutableRawBufferPointer(rebasing: packet[SHTPHeader.length...]))
    operations[0] = .write(UnsafeRawBufferPointer(packet))
    // If a write lost arbitration, the chip did not receive it, so the write can be repeated.
    for _ in 1..<3 {
      do throws(HardwareError) {
        return try transfer()
      } catch .arbitrationLost {
        continue
      }
    }
    try transfer()
  }

  func send(_ byte: UInt8, on channel: UInt8) throws(HardwareError) {
    try send(on: channel, count: 1) { $0[0] = byte }
  }

  func send(_ first: UInt8, _ second: UInt8, on channel: UInt8) throws(HardwareError) {
    try send(on: channel, count: 2) {
      $0[0] = first
      $0[1] = second
    }
  }

  /// Receives the waiting packet. No read is repeated, because the chip sends each byte only once.
  func receive() throws(HardwareError) -> Arrival {
    let announced = try header()
    headerAt = clock.now
    if announced.isEmpty { return .nothing }
    guard announced.isPossible else { return .garbled }
    let count = announced.packetLength - SHTPHeader.length
    var taken = 0
    while taken < count {
      let length = min(SHTPHeader.length + count - taken, bus.maximumReadLength)
      let piece = try read(length)
      let header = SHTPHeader(piece)
      guard header.packetLength == SHTPHeader.length + count - taken, header.channel == announced.channel,
        header.isContinuation || taken == 0
      else { return .garbled }
      let part = UnsafeRawBufferPointer(rebasing: piece[SHTPHeader.length...])
      UnsafeMutableRawBufferPointer(rebasing: cargo[taken...]).copyMemory(from: part)
      taken += part.count
    }
    return .packet(channel: announced.channel, cargo: UnsafeRawBufferPointer(rebasing: cargo[..<count]))
  }

  /// Whether a chip at this address uses SHTP and has output. The check reads two headers: the second must announce the
  /// same packet as the first, as a continuation. It takes no cargo, and writes nothing.
  func isSpoken() throws(HardwareError) -> Bool {
    do throws(HardwareError) {
      let first = try header()
      guard first.isPossible else { return false }
      let second = try header()
      // The data sheet gives each transfer its own number, but two transfers with the same number have been observed.
      return second.isContinuation && second.packetLength == first.packetLength && second.channel == first.channel
        && second.sequence &- first.sequence <= 1
    } catch {
      switch error {
      // SMBus adapters cannot read without a register, and other adapters give up on a stretched clock.
      case .timedOut, .system: return false
      default: throw error
      }
    }
  }

  private func header() throws(HardwareError) -> SHTPHeader { SHTPHeader(try read(SHTPHeader.length)) }

  private func read(_ count: Int) throws(HardwareError) -> UnsafeRawBufferPointer {
    let bytes = UnsafeMutableRawBufferPointer(rebasing: incoming[..<count])
    operations[0] = .read(bytes)
    try transfer()
    return UnsafeRawBufferPointer(bytes)
  }

  private func transfer() throws(HardwareError) {
    try bus.transaction(address, UnsafeBufferPointer(operations))
  }
}

/// The header of each transfer of SHTP, CEVA's Sensor Hub Transport Protocol (BNO08X data sheet 1000-3927, figure
/// 1-26).
struct SHTPHeader {
  static let length = 4
  static let channelCount = 6
  /// The longest plausible packet. The longest packet of the chip is its advertisement, of 276 bytes.
  static let longestPacket = 512

  /// The length in bytes that the header states: the header plus the rest of the cargo. In the first transfer of a
  /// packet, the rest is the whole cargo.
  let packetLength: Int
  /// Whether an earlier transfer began the same packet. A transfer of only the header counts.
  let isContinuation: Bool
  let channel: UInt8
  let sequence: UInt8

  init(_ bytes: UnsafeRawBufferPointer) {
    packetLength = Int(bytes[1] & 0x7F) << 8 | Int(bytes[0])
    isContinuation = bytes[1] & 0x80 != 0
    channel = bytes[2]
    sequence = bytes[3]
  }

  /// Whether the chip has no output.
  var isEmpty: Bool { packetLength == 0 || packetLength == SHTPHeader.length }

  /// Whether a chip can have sent this header. In a garbled header, most bits are ones, or all bits of one byte are.
  var isPossible: Bool {
    packetLength > SHTPHeader.length && packetLength <= SHTPHeader.longestPacket && channel < SHTPHeader.channelCount
  }
}
