import CLinux
import Glibc
import Guarding
import Hub

/// Sends sentences, or messages of GDL 90, to one target in UDP datagrams. Each datagram contains complete sentences or
/// messages, unless one of them alone is longer than a datagram. Sending never waits. A datagram that the kernel does
/// not accept at once is dropped and counted.
final class SentenceDatagrams: PeerLink {
  private struct State {
    var descriptor: Int32 = -1
    var interface: UInt32 = 0
    /// The error number of the last datagram, 0 if it was sent; `nil` before the first one.
    var lastError: Int32?
    var isOver = false
  }

  /// The maximum size of a datagram in bytes. A datagram of this size fits into one Ethernet packet, with room for a
  /// tunnel's headers.
  static let size = 1400

  private let target: UDPTarget
  private let traffic: OutputTraffic.Kind
  private let sink: JournalSink
  /// The names of the output and of its content in the log.
  private let title, things: String
  private let state = Guarded(State())

  init(
    to target: UDPTarget, traffic: OutputTraffic.Kind, sink: JournalSink, title: String = "NMEA 0183",
    things: String = "sentences"
  ) {
    self.title = title
    self.things = things
    self.target = target
    self.traffic = traffic
    self.sink = sink
  }

  /// Sends complete sentences, line ends included, in as few datagrams as possible.
  func send(_ sentences: UnsafeBufferPointer<UInt8>) {
    var rest = sentences[...]
    while !rest.isEmpty {
      let piece = SentenceDatagrams.piece(rest)
      sendOne(UnsafeBufferPointer(rebasing: piece))
      rest = rest[piece.endIndex...]
    }
  }

  /// Takes as many complete sentences as fit. A sentence longer than a datagram is cut; no real sentence is that
  /// long.
  private static func piece(_ sentences: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
    if sentences.count <= size { return sentences }
    let most = sentences.prefix(size)
    guard let end = most.lastIndex(of: UInt8(ascii: "\n")) else { return most }
    return sentences[...end]
  }

  /// Sends the bytes, which must fit, in one datagram.
  func sendTogether(_ bytes: UnsafeBufferPointer<UInt8>) { sendOne(bytes) }

  private func sendOne(_ bytes: UnsafeBufferPointer<UInt8>) {
    let change: Int32? = state.withLock { state in
      guard !state.isOver else { return nil }
      let error = send(bytes, &state)
      if error != 0 { traffic.valueDropped() }
      // The kernel's buffer is full. Such a loss is counted and not logged.
      if error == EAGAIN || error == ENOBUFS { return nil }
      defer { state.lastError = error }
      return state.lastError == error ? nil : error
    }
    if let change { report(change) }
  }

  /// Sends one datagram, and first opens the socket if necessary.
  ///
  /// - Returns: 0 or the error number
  private func send(_ bytes: UnsafeBufferPointer<UInt8>, _ state: inout State) -> Int32 {
    let address = target.address.bytes
    if state.descriptor < 0 {
      // Look the interface up again, because it may appear after the hub has started, or return with another index.
      state.interface = target.interface.map { if_nametoindex($0) } ?? 0
      if target.interface != nil, state.interface == 0 { return ENODEV }
      state.descriptor = clinux_udp_socket(address.count, state.interface)
      if state.descriptor < 0 { return errno }
    }
    let result = clinux_udp_send(
      state.descriptor, address, address.count, target.port, state.interface, bytes.baseAddress, bytes.count)
    if result == 0 { return 0 }
    let error = errno
    if error != EAGAIN, error != ENOBUFS {
      close(state.descriptor)
      state.descriptor = -1
    }
    return error
  }

  private func report(_ error: Int32) {
    if error == 0 { return sink.write(.notice, "\(title): \(things) go to UDP \(target)") }
    let next =
      switch error {
      case ENETUNREACH, EHOSTUNREACH:
        "no route to this address; for a multicast group set 'interface' in the board file"
      case EPERM, EACCES:
        "a firewall or the service's sandbox forbids it; deploy.sh lists the targets of the board file"
      case ENODEV: "this interface does not exist at present"
      default: "the hub tries again with the next one"
      }
    sink.write(.warning, "\(title): no \(things) go to UDP \(target): \(String(cString: strerror(error))); \(next)")
  }

  func end() {
    state.withLock { state in
      state.isOver = true
      if state.descriptor >= 0 { close(state.descriptor) }
      state.descriptor = -1
    }
  }
}
