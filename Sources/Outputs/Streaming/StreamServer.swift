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

  private enum Kind {
    case devices, state, gpsd, nmea

    func counted(in traffic: OutputTraffic) -> OutputTraffic.Kind {
      switch self {
      case .devices: traffic.devices
      case .state: traffic.state
      case .gpsd: traffic.gpsd
      case .nmea: traffic.nmea
      }
    }
  }

  private struct Listener {
    var descriptor: Int32
    var kind: Kind
    /// `nil` for a Unix socket.
    var endpoint: TCPEndpoint?

    /// The same socket serves this too; who may connect is looked up anew for each client.
    func suits(_ kind: Kind, _ endpoint: TCPEndpoint) -> Bool {
      self.kind == kind && self.endpoint?.address == endpoint.address && self.endpoint?.port == endpoint.port
    }
  }

  /// The ports of one hub.
  private struct Ports {
    var hub: Hub
    var listeners: [Listener]
    /// What there is to say about the new ones.
    var reports: [(priority: JournalSink.Priority, text: String)] = []
  }

  private struct Client {
    var connection: StreamConnection
    var session: any StreamSession
    var kind: Kind
    /// `nil` on a Unix socket.
    var address: IPAddress?
  }

  private let host: HubHost
  private let path: SocketPath
  private let sink: JournalSink
  private let fixed: [Listener]
  private let firstPorts: Ports
  private let outputs: [Kind: any StreamOutput]
  private let stop = StopSignal()
  /// Makes the thread look at its clients and ports again.
  private let wake = WakeSignal()
  private let hasEnded = MutableProperty(false)
  private let reserve = Guarded(open("/dev/null", O_RDONLY | O_CLOEXEC))

  /// Listens at once, so that an error is known before anything else starts.
  public init(host: HubHost, path: SocketPath, sink: JournalSink) throws(SocketError) {
    self.host = host
    self.path = path
    self.sink = sink
    outputs = [
      .devices: DevicesOutput(host: host), .state: StateOutput(host: host), .gpsd: GPSDOutput(host: host),
      .nmea: NMEAOutput(host: host),
    ]
    firstPorts = StreamServer.openPorts(of: host.hub.value, replacing: [])
    // The state's last: who sees it finds everything.
    let devices: Int32
    do throws(SocketError) {
      devices = try UnixSocket.listen(path.devices)
    } catch {
      for listener in firstPorts.listeners { close(listener.descriptor) }
      throw error
    }
    do throws(SocketError) {
      fixed = [
        Listener(descriptor: devices, kind: .devices),
        Listener(descriptor: try UnixSocket.listen(path.state), kind: .state),
      ]
    } catch {
      for listener in firstPorts.listeners { close(listener.descriptor) }
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
    var ports = firstPorts
    report(ports)
    var clients: [Client] = []
    defer {
      for client in clients { StreamServer.end(client) }
      for listener in fixed + ports.listeners { close(listener.descriptor) }
      reserve.withLock { _ = close($0) }
      unlink(path.state)
      unlink(path.devices)
    }
    while true {
      let hub = host.hub.value
      if hub !== ports.hub {
        ports = StreamServer.openPorts(of: hub, replacing: ports.listeners)
        report(ports)
        // Whoever may not connect any more may not stay either.
        let (admitted, refused) = StreamServer.divide(clients, by: ports.listeners)
        for client in refused { StreamServer.end(client) }
        clients = admitted
      }
      let listeners = fixed + ports.listeners
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

  private func report(_ ports: Ports) {
    for report in ports.reports { sink.write(report.priority, report.text) }
  }

  /// Opens the ports that a board file asks for. Those that are open already stay open; the others are closed first, as one
  /// may stand where another is wanted.
  private static func openPorts(of hub: Hub, replacing present: [Listener]) -> Ports {
    var ports = Ports(hub: hub, listeners: [])
    let wanted = [
      (Kind.gpsd, hub.board.gpsdEndpoint, "gpsd protocol"), (.nmea, hub.board.nmea?.endpoint, "NMEA 0183"),
    ].compactMap { kind, endpoint, title in endpoint.map { (kind: kind, endpoint: $0, title: title) } }
    for listener in present where !wanted.contains(where: { listener.suits($0.kind, $0.endpoint) }) {
      close(listener.descriptor)
    }
    for (kind, endpoint, title) in wanted {
      if var listener = present.first(where: { $0.suits(kind, endpoint) }) {
        listener.endpoint = endpoint
        ports.listeners.append(listener)
        continue
      }
      do throws(SocketError) {
        let descriptor = try TCPSocket.listen(endpoint)
        ports.listeners.append(Listener(descriptor: descriptor, kind: kind, endpoint: endpoint))
        ports.reports.append((.notice, "\(title) on \(endpoint), open to \(endpoint.audience)"))
      } catch {
        ports.reports.append((.warning, "\(title) is not served: \(error)"))
      }
    }
    return ports
  }

  private static func divide(_ clients: [Client], by ports: [Listener]) -> (admitted: [Client], refused: [Client]) {
    var result: (admitted: [Client], refused: [Client]) = ([], [])
    for client in clients {
      let isAdmitted =
        client.address.map { address in
          ports.contains { $0.kind == client.kind && $0.endpoint?.admits(address) == true }
        } ?? true
      if isAdmitted { result.admitted.append(client) } else { result.refused.append(client) }
    }
    return result
  }

  private func accept(_ listener: Listener, _ count: Int) -> Client? {
    guard let descriptor = accept(listener.descriptor) else { return nil }
    guard count < StreamServer.clientLimit else {
      close(descriptor)
      return nil
    }
    let peer: String
    var address: IPAddress?
    if let endpoint = listener.endpoint {
      guard let other = TCPSocket.prepare(descriptor), endpoint.admits(other.address) else {
        close(descriptor)
        return nil
      }
      peer = "\(other)"
      address = other.address
    } else {
      peer = UnixSocket.peerName(descriptor)
    }
    let connection = StreamConnection(
      descriptor: descriptor, peer: peer, traffic: listener.kind.counted(in: host.traffic)
    ) {
      [wake] in wake.raise()
    }
    guard let session = outputs[listener.kind]?.serve(connection) else {
      connection.close()
      return nil
    }
    return Client(connection: connection, session: session, kind: listener.kind, address: address)
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
