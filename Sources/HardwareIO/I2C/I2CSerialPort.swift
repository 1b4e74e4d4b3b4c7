import CLinux
import Glibc
import Guarding
import MonotonicTime

/// The place of a receiver on an I2C bus, as the name of its port: `/dev/i2c-1@0x42`.
public struct I2CPortName: Equatable, Sendable {
  /// The address of u-blox receivers as delivered.
  public static let usualAddress: UInt8 = 0x42
  private static let mark = "@0x"

  public let bus: String
  public let address: UInt8

  public init(bus: String, address: UInt8) {
    self.bus = bus
    self.address = address
  }

  /// Returns `nil` for the name of another port.
  public init?(_ name: String) {
    guard let at = name.lastIndex(of: "@"), name[at...].hasPrefix(I2CPortName.mark),
      let address = UInt8(name[at...].dropFirst(I2CPortName.mark.count), radix: 16)
    else { return nil }
    self.init(bus: String(name[..<at]), address: address)
  }
}

extension I2CPortName: CustomStringConvertible {
  public var description: String { "\(bus)\(I2CPortName.mark)\(String(address, radix: 16))" }
}

/// A u-blox receiver on an I2C bus, with the same interface as a serial port. u-blox calls this port DDC.
///
/// The receiver keeps its output until the host reads it, and the host has to ask for it. A kernel timer provides the
/// descriptor to poll, which becomes readable when it is time to ask. Without a reader there is no timer. A transaction
/// is short, so that sensors on the same bus wait for a few milliseconds at most. (u-blox 8 / M8 protocol
/// specification, UBX-13003221, DDC port; M10 SPG 5.10 interface description, UBX-21035062, I2C.)
public final class I2CSerialPort: SerialPort {
  /// The registers for the number of waiting bytes, the upper byte first, and for the bytes themselves.
  private enum Register {
    static let count: UInt8 = 0xFD
    static let stream: UInt8 = 0xFF
  }

  /// The longest transfer: 6 ms at 100 kHz. SMBus adapters allow less.
  private static let longestTransfer = 64
  /// The size of the receiver's buffer. At the start, at most this number of old bytes is dropped.
  private static let longestBacklog = 4096
  /// How many transfers may fail in a row, for example because the receiver restarts, before the receiver counts as
  /// lost. With the pause after each failure, this number of transfers takes two seconds.
  static let mostFailures = 40
  /// The value of each register of a receiver that is not ready, and of padding.
  private static let padding: UInt8 = 0xFF

  private struct State {
    var pollRate = ReceiverPollRate()
    /// The number of bytes that the receiver has stated and the host has not read yet.
    var waiting = 0
    /// The number of old bytes that may still be dropped.
    var backlog = I2CSerialPort.longestBacklog
    var errorCount = 0
    var failures = 0
    /// The timer.
    var descriptor = clinux_timerfd()

    /// Sets the timer, which is readable from this instant on.
    func arm(_ instant: MonotonicInstant) { _ = clinux_timerfd_arm(descriptor, instant.nanoseconds, 0) }
  }

  private let bus: any I2CBus
  private let place: I2CPortName
  private let longest: Int
  private let clock = MonotonicClock()
  private let state = Guarded(State())

  public init(_ place: I2CPortName, on bus: any I2CBus) throws(HardwareError) {
    self.place = place
    self.bus = bus
    longest = min(I2CSerialPort.longestTransfer, bus.maximumReadLength)
    guard fileDescriptor >= 0 else { throw .system("creating a timer", errno: EMFILE) }
    try bus.claim(place.address)
    state.withLock { $0.arm(clock.now) }
  }

  deinit { close() }

  public var name: String { "\(place)" }
  public var fileDescriptor: Int32 { state.withLock { $0.descriptor } }
  public var hasSpeed: Bool { false }
  public func setSpeed(_ speed: BaudRate) {}
  public func expectReports(every period: Duration?) { state.withLock { $0.pollRate.period = period } }
  public var errorCount: Int { state.withLock { $0.errorCount } }
  /// Always 0, because a transaction ends only when the receiver has taken its bytes.
  public var unsentCount: Int { 0 }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    try state.withLock { state in read(into: buffer, &state) }.get()
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer, _ state: inout State) -> Result<Int, HardwareError> {
    let now = clock.now
    defer {
      let next = state.failures > 0 ? now + ReceiverPollRate.rare : state.pollRate.next(after: now)
      state.arm(state.waiting > 0 ? now : next)
    }
    if state.waiting == 0 {
      var count: (upper: UInt8, lower: UInt8) = (0, 0)
      if let error = withUnsafeMutableBytes(of: &count, { read(Register.count, into: $0) }) {
        return failed(error, &state)
      }
      state.failures = 0
      let isReady = count != (I2CSerialPort.padding, I2CSerialPort.padding)
      state.waiting = isReady ? Int(count.upper) << 8 | Int(count.lower) : 0
      guard state.waiting > 0 else {
        state.backlog = 0
        return .success(0)
      }
      state.pollRate.bytesCame(at: now)
    }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(min(state.waiting, longest)))
    if let error = read(Register.stream, into: bytes) { return failed(error, &state) }
    state.waiting -= bytes.count
    // If the receiver had fewer bytes than it stated, it pads them. Padding between messages does no harm.
    guard bytes.contains(where: { $0 != I2CSerialPort.padding }) else {
      state.waiting = 0
      return .success(0)
    }
    // Bytes from before the port was opened would be taken for new ones.
    guard state.backlog == 0 else {
      state.backlog = max(0, state.backlog - bytes.count)
      return .success(0)
    }
    return .success(bytes.count)
  }

  /// Counts a failed transfer. Returns the error once too many transfers have failed.
  private func failed(_ error: HardwareError, _ state: inout State) -> Result<Int, HardwareError> {
    state.errorCount += 1
    state.failures += 1
    state.waiting = 0
    switch error {
    case .noAcknowledge, .arbitrationLost, .timedOut, .system:
      return state.failures < I2CSerialPort.mostFailures ? .success(0) : .failure(error)
    default: return .failure(error)
    }
  }

  public func write(_ bytes: [UInt8]) throws(HardwareError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = try writeNow(rest)
      rest = rest.dropFirst(count)
      if count == 0 { _ = poll(nil, 0, Int32(ReceiverPollRate.rare.inNanoseconds / 1_000_000)) }
    }
  }

  /// Writes one transaction. Returns 0 if the receiver or the bus was busy.
  public func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int {
    var count = min(bytes.count, longest)
    // The receiver takes a single byte for the number of a register, so no single byte may remain.
    if bytes.count == count + 1 { count -= 1 }
    var piece = Array(bytes.prefix(count))
    if count == 1 { piece.append(I2CSerialPort.padding) }
    let result = state.withLock { state -> Result<Int, HardwareError> in
      let now = clock.now
      if let error = piece.withUnsafeBytes({ transfer($0) }) { return failed(error, &state) }
      state.failures = 0
      state.pollRate.spoke(at: now)
      if state.waiting == 0 { state.arm(state.pollRate.next(after: now)) }
      return .success(count)
    }
    return try result.get()
  }

  private func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) -> HardwareError? {
    withUnsafeBytes(of: register) { transfer($0, buffer) }
  }

  /// Writes bytes, and then reads into a buffer.
  private func transfer(
    _ bytes: UnsafeRawBufferPointer, _ buffer: UnsafeMutableRawBufferPointer? = nil
  ) -> HardwareError? {
    withUnsafeTemporaryAllocation(of: I2COperation.self, capacity: 2) { operations in
      operations.initialize(repeating: .write(bytes))
      if let buffer { operations[1] = .read(buffer) }
      do throws(HardwareError) {
        try bus.transaction(
          place.address, UnsafeBufferPointer(rebasing: operations[..<(buffer == nil ? 1 : 2)]))
        return nil
      } catch {
        return error
      }
    }
  }

  public func close() {
    let open = state.withLock { state in
      defer { state.descriptor = -1 }
      return state.descriptor
    }
    if open >= 0 { _ = Glibc.close(open) }
  }
}
