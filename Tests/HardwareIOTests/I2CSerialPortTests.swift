import CLinux
import Glibc
import Guarding
@testable import HardwareIO
import MonotonicTime
import TestSupport
import Testing

/// A receiver on an I2C bus, with the registers of u-blox.
private final class RegisterBus: I2CBus {
  struct State {
    var waiting: [UInt8] = []
    /// Wrong answers about the number of waiting bytes, which the chip gives before the true ones.
    var counts: [[UInt8]] = []
    var written: [[UInt8]] = []
    var longestRead = 0
    var transactions = 0
    var error: HardwareError?
  }

  let name = "/dev/i2c-1"
  let maximumReadLength = 4096
  let state = Guarded(State())

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    try state.withLock { state throws(HardwareError) in
      state.transactions += 1
      if let error = state.error { throw error }
      var register: UInt8 = 0xFF
      for operation in operations {
        switch operation {
        case .write(let bytes) where bytes.count == 1: register = bytes[0]
        case .write(let bytes): state.written.append(Array(bytes))
        case .read(let bytes) where register == 0xFD:
          let count = state.waiting.count
          let answer =
            state.counts.isEmpty ? [UInt8(count >> 8), UInt8(count & 0xFF)] : state.counts.removeFirst()
          bytes.copyBytes(from: answer)
        case .read(let bytes):
          state.longestRead = max(state.longestRead, bytes.count)
          for index in bytes.indices {
            bytes[index] = state.waiting.isEmpty ? 0xFF : state.waiting.removeFirst()
          }
        }
      }
    }
  }
}

struct I2CSerialPortTests {
  private let bus = RegisterBus()
  private let buffer = Buffer()

  private final class Buffer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
    deinit { bytes.deallocate() }
  }

  private func open() throws -> I2CSerialPort { try I2CSerialPort(I2CPortName(bus: bus.name, address: 0x42), on: bus) }

  private func read(_ port: I2CSerialPort) throws(HardwareError) -> [UInt8] {
    Array(buffer.bytes.prefix(try port.read(into: buffer.bytes)))
  }

  /// A port whose receiver has no old bytes.
  private func openEmpty() throws -> I2CSerialPort {
    let port = try open()
    #expect(try read(port).isEmpty)
    return port
  }

  private func isReadable(_ port: I2CSerialPort, within milliseconds: Int32) -> Bool {
    var wait = pollfd(fd: port.fileDescriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, milliseconds) > 0
  }

  @Test func `waiting bytes are read in short transactions, and then the receiver is asked again later`() throws {
    let port = try openEmpty()
    #expect(port.name == "/dev/i2c-1@0x42" && !port.hasSpeed)
    let sent = (0..<150).map { UInt8($0) }
    bus.state.withLock { $0.waiting = sent }
    var received: [UInt8] = []
    while received.count < sent.count {
      #expect(isReadable(port, within: 180_000))
      received += try read(port)
    }
    #expect(received == sent)
    #expect(bus.state.withLock { $0.longestRead } == 64)
    #expect(try read(port).isEmpty)
    // The receiver is not polled until the port's owner reads.
    let count = bus.state.withLock { $0.transactions }
    #expect(isReadable(port, within: 180_000))
    #expect(bus.state.withLock { $0.transactions } == count)
  }

  @Test func `bytes from before the port was opened are dropped`() throws {
    bus.state.withLock { $0.waiting = [UInt8](repeating: 7, count: 100) }
    let port = try open()
    for _ in 0..<3 { #expect(try read(port).isEmpty) }
    bus.state.withLock { $0.waiting = [1, 2] }
    #expect(try read(port) == [1, 2])
  }

  @Test func `a receiver that is not ready, and padding, give no bytes`() throws {
    let port = try openEmpty()
    bus.state.withLock { $0.counts = [[0xFF, 0xFF], [0, 5]] }
    #expect(try read(port).isEmpty)
    #expect(bus.state.withLock { $0.longestRead } == 0)
    #expect(try read(port).isEmpty)
    #expect(bus.state.withLock { $0.longestRead } == 5)
    // The same value inside a message is data.
    bus.state.withLock { $0.waiting = [0xFF, 1, 0xFF] }
    #expect(try read(port) == [0xFF, 1, 0xFF])
  }

  @Test(arguments: [(1, [2]), (2, [2]), (64, [64]), (65, [63, 2]), (130, [64, 64, 2]), (129, [64, 63, 2])])
  func `a command is written in pieces, and no piece is a single byte`(_ count: Int, _ pieces: [Int]) throws {
    let port = try openEmpty()
    let command = (0..<count).map { UInt8($0) }
    try port.write(command)
    let written = bus.state.withLock { $0.written }
    #expect(written.map(\.count) == pieces)
    #expect(Array(written.joined().prefix(count)) == command)
    #expect(port.unsentCount == 0)
  }

  @Test func `failed transfers are counted, and too many of them in a row are an error`() throws {
    let port = try openEmpty()
    let error = HardwareError.noAcknowledge(bus: bus.name, address: 0x42)
    bus.state.withLock { $0.error = error }
    for _ in 1..<I2CSerialPort.mostFailures { #expect(try read(port).isEmpty) }
    #expect(port.errorCount == I2CSerialPort.mostFailures - 1)
    bus.state.withLock { $0.error = nil }
    #expect(try read(port).isEmpty)
    bus.state.withLock { $0.error = error }
    #expect(try port.writeNow([1, 2]) == 0)
    for _ in 2..<I2CSerialPort.mostFailures { #expect(try read(port).isEmpty) }
    #expect(throws: error) { try read(port) }
    bus.state.withLock { $0.error = .disconnected(bus.name) }
    #expect(throws: HardwareError.disconnected(bus.name)) { try read(port) }
  }

  @Test(arguments: [
    ("/dev/i2c-1@0x42", "/dev/i2c-1", 0x42 as UInt8), ("simulated/i2c@0x43", "simulated/i2c", 0x43),
  ])
  func `the name of a port names the bus and the address`(_ name: String, _ bus: String, _ address: UInt8) throws {
    let place = try #require(I2CPortName(name))
    #expect(place == I2CPortName(bus: bus, address: address) && "\(place)" == name)
  }

  @Test(arguments: ["/dev/i2c-1", "/dev/ttyS0", "iio:bmi160@back", "tcp://a:1", "/dev/i2c-1@0x", "/dev/i2c-1@0x1FF"])
  func `any other name is not the name of a receiver on a bus`(_ name: String) { #expect(I2CPortName(name) == nil) }
}

struct ReceiverPollRateTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

  private func next(_ pollRate: ReceiverPollRate, _ milliseconds: Int) -> Duration {
    let now = start + .milliseconds(milliseconds)
    return pollRate.next(after: now) - now
  }

  @Test func `the receiver is polled rarely between two bursts, and often when the next one is expected`() {
    var pollRate = ReceiverPollRate()
    #expect(next(pollRate, 0) == ReceiverPollRate.usual)
    pollRate.period = .seconds(1)
    #expect(next(pollRate, 0) == .milliseconds(50))
    pollRate.bytesCame(at: start)
    // The rest of the burst does not begin another one.
    pollRate.bytesCame(at: start + .milliseconds(200))
    #expect(next(pollRate, 210) == .milliseconds(50))
    #expect(next(pollRate, 970) == .milliseconds(20))
    #expect(next(pollRate, 990) == .milliseconds(5))
    #expect(next(pollRate, 1020) == .milliseconds(5))
    #expect(next(pollRate, 1040) == .milliseconds(50))
    pollRate.bytesCame(at: start + .milliseconds(1003))
    #expect(next(pollRate, 1985) == .milliseconds(8))
  }

  @Test func `after a command the answer is awaited closely`() {
    var pollRate = ReceiverPollRate()
    pollRate.spoke(at: start)
    #expect(next(pollRate, 0) == .milliseconds(5) && next(pollRate, 299) == .milliseconds(5))
    #expect(next(pollRate, 300) == ReceiverPollRate.usual)
  }

  @Test(arguments: [(25.0, 5), (10, 10), (5, 20), (1, 50), (0.2, 50)])
  func `the polling interval depends on the rate of the reports`(_ rateHz: Double, _ milliseconds: Int) {
    var pollRate = ReceiverPollRate()
    pollRate.period = .nanoseconds(Int64(1e9 / rateHz))
    #expect(next(pollRate, 0) == .milliseconds(milliseconds))
  }
}
