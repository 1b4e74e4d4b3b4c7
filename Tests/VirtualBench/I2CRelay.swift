import Glibc
import Guarding
import HardwareIO
import MonotonicTime

/// A kernel bus, /dev/i2c-N, whose devices are simulated by a model in this process.
///
/// It requires the kernel module `i2c-relay`, whose source describes the protocol.
public final class I2CRelay: Sendable {
  /// For example `/dev/i2c-0`.
  public let path: String
  private let descriptor: Int32
  private let model: any I2CBus
  private let stop = StopSignal()
  private let isStalled = Guarded(false)
  private let hang = Guarded(Hang())
  /// Raised when the transfer that hangs should be answered.
  private let freed = WakeSignal()
  private let log = Guarded([Transfer]())
  private let hasEnded = WakeSignal()

  /// A transfer as received from the kernel.
  public struct Transfer: Equatable, Sendable {
    public var written: [UInt8]
    public var readLength: Int
  }

  private struct Hang {
    var isHanging = false
    var endsWithSupply = false
    /// The transfer that waits for its answer. The kernel passes on one transfer at a time.
    var request: [UInt8]?
    var since: MonotonicInstant?
  }

  /// - Parameter mayHang: whether the kernel waits for an answer without a limit, which `setHanging` needs; otherwise
  ///   it waits a second
  public init(model: any I2CBus, mayHang: Bool = false) throws(HardwareError) {
    self.model = model
    descriptor = open("/dev/i2c-relay", O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system("opening /dev/i2c-relay", errno: Glibc.errno) }
    var adapter: UInt32 = 0
    guard read(descriptor, &adapter, 4) == 4 else { throw .system("reading from /dev/i2c-relay", errno: Glibc.errno) }
    path = "/dev/i2c-\(adapter)"
    if mayHang { try I2CRelay.waitForEver(path) }
    guard DetachedThread.start("i2c relay", { self.serve() }) == 0 else {
      throw .system("starting a thread", errno: EAGAIN)
    }
  }

  /// Removes the bus, as unplugging a USB adapter does.
  public func remove() {
    stop.set()
    hasEnded.wait()
  }

  /// Stalls the bus: transfers get no answer until the kernel gives up.
  public func setStalled(_ isStalled: Bool) { self.isStalled.withLock { $0 = isStalled } }

  /// Lets the next transfer hang in the kernel until this is called with `false`. Its thread cannot be interrupted, not
  /// even by SIGKILL.
  ///
  /// - Parameter endsWithSupply: whether the hang also ends with `lostSupply`, as if the chip had held the clock line
  public func setHanging(_ isHanging: Bool, endsWithSupply: Bool = false) {
    hang.withLock { ($0.isHanging, $0.endsWithSupply) = (isHanging, endsWithSupply) }
    if !isHanging { freed.raise() }
  }

  /// Reports that the chips have lost their supply.
  public func lostSupply() { if hang.withLock({ $0.endsWithSupply }) { setHanging(false) } }

  /// The time at which the present transfer began to hang; `nil` if none hangs.
  public var hangsSince: MonotonicInstant? { hang.withLock { $0.since } }

  /// Raises the kernel's limit for an answer to an hour, which no test reaches.
  private static func waitForEver(_ path: String) throws(HardwareError) {
    let bus = open(path, O_RDWR | O_CLOEXEC)
    guard bus >= 0 else { throw .system("opening \(path)", errno: Glibc.errno) }
    defer { close(bus) }
    // The request is I2C_TIMEOUT, in units of 10 ms.
    guard ioctl(bus, 0x0702, 360_000 as CInt) == 0 else {
      throw .system("setting the time limit of \(path)", errno: Glibc.errno)
    }
  }

  /// The transfers since the last call.
  public func takeTransfers() -> [Transfer] {
    log.withLock { log in
      defer { log.removeAll(keepingCapacity: true) }
      return log
    }
  }

  private func serve() {
    defer {
      close(descriptor)
      hasEnded.raise()
    }
    let poller = Poller(stop: stop.fileDescriptor)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16384, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      switch poller.wait(for: descriptor, or: freed) {
      case .readable:
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0, !isStalled.withLock({ $0 }) else { continue }
        let request = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        if !keeps(request) { reply(to: request) }
      case nil:
        guard let request = takeKept() else { continue }
        buffer.copyBytes(from: request)
        reply(to: UnsafeMutableRawBufferPointer(rebasing: buffer[..<request.count]))
      case .stopped, .timedOut: return
      }
    }
  }

  /// Keeps a transfer if it should hang. Returns whether it does.
  private func keeps(_ request: UnsafeMutableRawBufferPointer) -> Bool {
    hang.withLock { hang in
      guard hang.isHanging else { return false }
      (hang.request, hang.since) = (Array(request), MonotonicClock().now)
      return true
    }
  }

  private func takeKept() -> [UInt8]? {
    hang.withLock { hang in
      guard !hang.isHanging else { return nil }
      defer { (hang.request, hang.since) = (nil, nil) }
      return hang.request
    }
  }

  private func reply(to request: UnsafeMutableRawBufferPointer) {
    _ = answer(request).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  }

  private static let isRead: UInt16 = 1
  private static let headLength = 8

  private func answer(_ request: UnsafeMutableRawBufferPointer) -> [UInt8] {
    let sequence = request.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
    let messageCount = request.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
    var messages: [(isRead: Bool, length: Int, bytes: Int)] = []
    var address: UInt16 = 0
    var offset = 8
    for _ in 0..<messageCount {
      address = request.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
      let flags = request.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self)
      let length = Int(request.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
      let isRead = flags & I2CRelay.isRead != 0
      messages.append((isRead, length, offset + I2CRelay.headLength))
      offset += I2CRelay.headLength + (isRead ? 0 : length)
    }
    let readLength = messages.reduce(0) { $0 + ($1.isRead ? $1.length : 0) }
    log.withLock { log in
      let written = messages.filter { !$0.isRead }.flatMap { Array(request[$0.bytes..<$0.bytes + $0.length]) }
      log.append(Transfer(written: written, readLength: readLength))
    }
    var reply = [UInt8](repeating: 0, count: I2CRelay.headLength + readLength)
    let result = reply.withUnsafeMutableBytes { reply -> Int32 in
      var end = I2CRelay.headLength
      let operations = messages.map { message -> I2COperation in
        guard message.isRead else {
          return .write(UnsafeRawBufferPointer(rebasing: request[message.bytes..<message.bytes + message.length]))
        }
        defer { end += message.length }
        return .read(UnsafeMutableRawBufferPointer(rebasing: reply[end..<end + message.length]))
      }
      do throws(HardwareError) {
        try operations.withUnsafeBufferPointer { (operations) throws(HardwareError) in
          try model.transaction(UInt8(address), operations)
        }
        return 0
      } catch {
        return -I2CRelay.code(of: error)
      }
    }
    reply.withUnsafeMutableBytes { reply in
      reply.storeBytes(of: sequence, toByteOffset: 0, as: UInt32.self)
      reply.storeBytes(of: result, toByteOffset: 4, as: Int32.self)
    }
    return result == 0 ? reply : Array(reply[..<I2CRelay.headLength])
  }

  /// The error code that the Raspberry Pi's own adapter reports.
  private static func code(of error: HardwareError) -> Int32 {
    switch error {
    case .noAcknowledge: EREMOTEIO
    case .arbitrationLost: EAGAIN
    case .timedOut: ETIMEDOUT
    default: EIO
    }
  }
}
