import CLinux
import Glibc
import Guarding

/// A receiver on the network, with the same interface as a serial port.
///
/// Opening does not wait for the other end. The connection is made while the reader polls, and the addresses of a host
/// are tried one after another. Only the lookup of the host's name blocks, for some seconds if no name server answers.
public final class NetworkPort: SerialPort {
  private struct State {
    var descriptor: Int32
    /// The addresses that have not been tried yet.
    var addresses: [SocketAddress]
    var isConnected = false
    var sentences = GPSDSentences()
    /// The number of bytes of gpsd's reports that have arrived.
    var leftOutCount = 0
  }

  private let source: NetworkSource
  private let state: Guarded<State>

  public init(_ source: NetworkSource) throws(HardwareError) {
    self.source = source
    var addresses = try SocketAddress.find(source)
    if source.kind == .udp {
      let descriptor = try NetworkPort.listen(source, addresses[0])
      state = Guarded(State(descriptor: descriptor, addresses: [], isConnected: true))
      return
    }
    var failure: Int32 = 0
    while let next = addresses.first {
      addresses.removeFirst()
      let descriptor = NetworkPort.connect(to: next, isLast: addresses.isEmpty)
      failure = errno
      guard descriptor < 0 else {
        state = Guarded(State(descriptor: descriptor, addresses: addresses))
        return
      }
    }
    throw .system("connecting to \(source)", errno: failure)
  }

  deinit { close() }

  public var name: String { "\(source)" }
  public var hasSpeed: Bool { false }
  public var fileDescriptor: Int32 { state.withLock { $0.descriptor } }
  public func setSpeed(_ speed: BaudRate) {}
  public var leftOutCount: Int { state.withLock { $0.leftOutCount } }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    let result = state.withLock { read(into: buffer, &$0) }
    return try result.get()
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer, _ state: inout State) -> Result<Int, HardwareError> {
    guard let base = buffer.baseAddress, buffer.count > 1 else { return .success(0) }
    // A datagram without a line end gets a line end, so that it is not joined with the next datagram.
    let count = clinux_receive_now(state.descriptor, base, buffer.count - 1)
    if count < 0 { return failed(errno, &state) }
    if source.kind == .udp {
      guard count > 0, buffer[count - 1] != UInt8(ascii: "\n") else { return .success(max(0, count)) }
      buffer[count] = UInt8(ascii: "\n")
      return .success(count + 1)
    }
    if count == 0 { return .failure(.disconnected("\(source)")) }
    guard source.kind == .gpsd else {
      state.isConnected = true
      return .success(count)
    }
    // The first data from gpsd is its greeting.
    if !state.isConnected {
      state.isConnected = true
      let request = Array(GPSDSentences.request(for: source.device).utf8)
      let sent = request.withUnsafeBytes { clinux_send_now(state.descriptor, $0.baseAddress, $0.count) }
      guard sent == request.count else { return .failure(.disconnected("\(source)")) }
    }
    let kept = state.sentences.keepSentences(in: buffer, count: count)
    state.leftOutCount += count - kept
    return .success(kept)
  }

  private func failed(_ error: Int32, _ state: inout State) -> Result<Int, HardwareError> {
    if error == EAGAIN || error == EINTR { return .success(0) }
    if state.isConnected { return .failure(.disconnected("\(source)")) }
    while let next = state.addresses.first {
      state.addresses.removeFirst()
      let descriptor = NetworkPort.connect(to: next, isLast: state.addresses.isEmpty)
      guard descriptor >= 0 else { continue }
      // The reader keeps polling the same descriptor, so the new socket replaces the old one under its number.
      let result = clinux_replace(state.descriptor, descriptor)
      _ = Glibc.close(descriptor)
      if result >= 0 { return .success(0) }
    }
    return .failure(.system("connecting to \(source)", errno: error))
  }

  public func write(_ bytes: [UInt8]) throws(HardwareError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      rest = rest.dropFirst(try writeNow(rest))
      if rest.isEmpty { return }
      var wait = pollfd(fd: fileDescriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&wait, 1, 1000) > 0 else { throw .timedOut("\(source)") }
    }
  }

  public func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int {
    guard source.takesBytes else { throw .unsupported("nothing can be sent to \(source)") }
    let count = bytes.withUnsafeBytes { clinux_send_now(fileDescriptor, $0.baseAddress, $0.count) }
    if count >= 0 { return count }
    guard errno == EAGAIN || errno == EINTR || errno == ENOTCONN else { throw .disconnected("\(source)") }
    return 0
  }

  public var unsentCount: Int {
    guard source.kind != .udp else { return 0 }
    var count: Int32 = 0
    return ioctl(fileDescriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
  }

  public func close() {
    let open = state.withLock { state in
      defer { state.descriptor = -1 }
      return state.descriptor
    }
    if open >= 0 { _ = Glibc.close(open) }
  }

  /// Begins to connect. Sets `errno` on failure.
  ///
  /// - Parameter isLast: whether there is no other address. Otherwise the kernel gives up after some three seconds
  ///   instead of two minutes, because a firewall may drop everything that is sent to this address
  private static func connect(to address: SocketAddress, isLast: Bool) -> Int32 {
    let descriptor = address.connect()
    guard descriptor >= 0, !isLast else { return descriptor }
    var attempts: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_SYNCNT, &attempts, socklen_t(MemoryLayout<Int32>.size))
    return descriptor
  }

  /// Makes a socket that receives datagrams. For a multicast group or a broadcast, several programs on this machine may
  /// receive the same datagrams.
  private static func listen(_ source: NetworkSource, _ place: SocketAddress) throws(HardwareError) -> Int32 {
    let descriptor = place.makeSocket()
    guard descriptor >= 0 else { throw .system("opening \(source)", errno: errno) }
    var isShared: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
    var error = place.bind(descriptor)
    if error == 0 { error = place.joinGroup(descriptor) }
    guard error == 0 else {
      _ = Glibc.close(descriptor)
      throw .system("opening \(source)", errno: error)
    }
    return descriptor
  }
}

/// The protocol by which a client of gpsd requests and receives sentences.
struct GPSDSentences {
  /// Returns the request, which the client sends after gpsd's greeting.
  static func request(for device: String?) -> String {
    let choice = device.map { #","device":"\#($0)""# } ?? ""
    return #"?WATCH={"enable":true,"nmea":true\#(choice)};"# + "\n"
  }

  private var isReport = false
  private var isLineStart = true

  /// Removes gpsd's own reports from received bytes. A report is a JSON object on a line.
  ///
  /// - Parameters:
  ///   - buffer: the received bytes, which continue the bytes of the previous call
  ///   - count: how many bytes were received
  /// - Returns: the number of bytes that remain, at the beginning of the buffer
  mutating func keepSentences(in buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int {
    var kept = 0
    for index in 0..<count {
      let byte = buffer[index]
      if isLineStart { isReport = byte == UInt8(ascii: "{") }
      isLineStart = byte == UInt8(ascii: "\n")
      if isReport { continue }
      buffer[kept] = byte
      kept += 1
    }
    return kept
  }
}
