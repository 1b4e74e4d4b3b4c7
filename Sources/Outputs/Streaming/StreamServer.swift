import CLinux
import Glibc
import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Accepts the clients of all stream sockets and moves their bytes, on one thread that sleeps until somebody connects,
/// asks or leaves.
///
/// The Unix sockets stay as they are. The TCP ports are those of the board file in service; one that cannot be opened is
/// reported, and everything else goes on.
public final class StreamServer: Service {
  private static let clientLimit = 1100

  private struct Listener {
    var descriptor: Int32
    var output: any StreamOutput
    /// `nil` for a Unix socket.
    var endpoint: TCPEndpoint?
  }

  private struct Client {
    var connection: StreamConnection
    var session: any StreamSession
  }

  private let host: HubHost
  private let path: SocketPath
  private let sink: JournalSink
  private let fixed: [Listener]
  private let gpsd: GPSDOutput
  private let nmea: NMEAOutput
  private let stop = StopSignal()
  /// Makes the thread look at its clients and ports again.
  private let wake = WakeSignal()
  private let hasEnded = MutableProperty(false)
  private let reserve = Guarded(open("/dev/null", O_RDONLY | O_CLOEXEC))

  /// Listens on the Unix sockets at once, so that an error is known before anything else starts.
  public init(host: HubHost, path: SocketPath, sink: JournalSink) throws(SocketError) {
    self.host = host
    self.path = path
    self.sink = sink
    gpsd = GPSDOutput(host: host)
    nmea = NMEAOutput(host: host)
    // The state's last: who sees it finds both.
    let devices = try UnixSocket.listen(path.devices)
    do throws(SocketError) {
      fixed = [
        Listener(descriptor: devices, output: DevicesOutput(host: host)),
        Listener(descriptor: try UnixSocket.listen(path.state), output: StateOutput(host: host)),
      ]
    } catch {
      close(devices)
      unlink(path.devices)
      throw error
    }
  }

  public func run() async throws {
    let ports = host.hub.subscribe(as: "ports", receiveValue: { [wake] _ in wake.raise() })
    let error = DetachedThread.start("clients") { [self] in
      serve()
      hasEnded.value = true
    }
    guard error == 0 else { throw SocketError.system(path: path.state, doing: "starting a thread for", errno: error) }
    try? await gracefulShutdown()
    ports.cancel()
    stop.set()
    // In a task of its own: the sockets have to be closed and gone even if this one is cancelled.
    await Task { [hasEnded] in for await ended in hasEnded.readOnly.values(as: "clients") where ended { break } }.value
  }

  private func serve() {
    var listeners = fixed
    var clients: [Client] = []
    defer {
      for client in clients { StreamServer.end(client) }
      for listener in listeners { close(listener.descriptor) }
      reserve.withLock { _ = close($0) }
      unlink(path.state)
      unlink(path.devices)
    }
    var board: Board?
    while true {
      if board != host.hub.value.board {
        board = host.hub.value.board
        listeners = openPorts(of: host.hub.value.board, listeners)
      }
      var descriptors = ([stop.fileDescriptor, wake.fileDescriptor] + listeners.map(\.descriptor)).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      var earliest: MonotonicInstant?
      for client in clients {
        let deadline = client.connection.deadline
        if let deadline { earliest = min(earliest ?? deadline, deadline) }
        let events = POLLIN | (deadline != nil ? POLLOUT : 0)
        descriptors.append(pollfd(fd: client.connection.descriptor, events: Int16(events), revents: 0))
      }
      let now = MonotonicClock().now
      let timeout = earliest.map { max(($0 - now).inSeconds, 0) * 1000 + 1 } ?? -1
      guard poll(&descriptors, nfds_t(descriptors.count), Int32(timeout)) >= 0 else { continue }
      if descriptors[0].revents != 0 { return }
      if descriptors[1].revents != 0 { wake.clear() }
      let waitedUntil = MonotonicClock().now
      var present: [Client] = []
      for (client, descriptor) in zip(clients, descriptors[(2 + listeners.count)...]) {
        let isPresent =
          serve(client, Int32(descriptor.revents)) && client.connection.deadline.map { $0 > waitedUntil } ?? true
        if isPresent { present.append(client) } else { StreamServer.end(client) }
      }
      clients = present
      for (listener, descriptor) in zip(listeners, descriptors[2...]) where descriptor.revents != 0 {
        if let client = accept(listener, clients.count) { clients.append(client) }
      }
    }
  }

  /// Moves a client's bytes; returns whether it is still there.
  private func serve(_ client: Client, _ events: Int32) -> Bool {
    if events & (POLLHUP | POLLERR) != 0 { return false }
    if events & POLLOUT != 0, !client.connection.writeWaiting() { return false }
    guard events & POLLIN != 0 else { return true }
    return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
      let count = clinux_receive_now(client.connection.descriptor, buffer.baseAddress, buffer.count)
      if count == 0 { return false }
      if count < 0 { return errno == EAGAIN || errno == EINTR }
      client.session.receive(UnsafeBufferPointer(rebasing: buffer.bindMemory(to: UInt8.self)[..<count]))
      return true
    }
  }

  private static func end(_ client: Client) {
    client.session.end()
    client.connection.close()
  }

  /// The listeners that a board file asks for: those that are there already stay open.
  private func openPorts(of board: Board, _ present: [Listener]) -> [Listener] {
    let wanted: [(TCPEndpoint?, any StreamOutput, String)] = [
      (board.gpsdEndpoint, gpsd, "gpsd protocol"), (board.nmea?.endpoint, nmea, "NMEA 0183"),
    ]
    var ports: [Listener] = []
    for (endpoint, output, title) in wanted {
      guard let endpoint else { continue }
      if let listener = present.first(where: { $0.endpoint == endpoint }) {
        ports.append(listener)
        continue
      }
      do throws(SocketError) {
        ports.append(Listener(descriptor: try TCPSocket.listen(endpoint), output: output, endpoint: endpoint))
        sink.write(.notice, "\(title) on \(endpoint), open to \(endpoint.audience)")
      } catch {
        sink.write(.warning, "\(title) is not served: \(error)")
      }
    }
    for listener in present
    where listener.endpoint != nil && !ports.contains(where: { $0.endpoint == listener.endpoint }) {
      close(listener.descriptor)
    }
    return fixed + ports
  }

  private func accept(_ listener: Listener, _ count: Int) -> Client? {
    guard let descriptor = accept(listener.descriptor) else { return nil }
    guard count < StreamServer.clientLimit else {
      close(descriptor)
      return nil
    }
    let peer: String
    if let endpoint = listener.endpoint {
      guard let address = TCPSocket.prepare(descriptor), endpoint.admits(address.address) else {
        close(descriptor)
        return nil
      }
      peer = "\(address)"
    } else {
      peer = UnixSocket.peerName(descriptor)
    }
    let connection = StreamConnection(descriptor: descriptor, peer: peer) { [wake] in wake.raise() }
    guard let session = listener.output.serve(connection) else {
      connection.close()
      return nil
    }
    return Client(connection: connection, session: session)
  }

  /// Accepts a connection. With no descriptor left it is accepted in place of the reserve and refused: left waiting it
  /// would keep the thread awake.
  private func accept(_ listener: Int32) -> Int32? {
    let descriptor = clinux_accept(listener)
    if descriptor >= 0 { return descriptor }
    if errno == EMFILE || errno == ENFILE {
      reserve.withLock { reserve in
        close(reserve)
        close(clinux_accept(listener))
        reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
      }
    }
    return nil
  }
}
