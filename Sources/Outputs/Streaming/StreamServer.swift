import CLinux
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Accepts the clients of all stream sockets and moves their bytes, on one thread that sleeps until a client
/// connects, sends or leaves.
///
/// The Unix sockets are permanent. The TCP ports are those of the board file in service. If a port cannot be opened,
/// the server reports it, continues with all other sockets, and opens the port once its address or number is available.
/// Each port gets at most a share of the possible connections, and each machine at most a share of a port's
/// connections. The Unix sockets have connections of their own.
public final class StreamServer: Service {
  private struct Listener {
    var descriptor: Int32
    var kind: StreamKind
    /// The port in the board file in service; `nil` for a Unix socket.
    var port: StreamPort?

    /// Whether the same socket can serve this port. The permission is checked again for each client.
    func suits(_ kind: StreamKind, _ socket: TCPAddress) -> Bool { self.kind == kind && port?.socket == socket }
  }

  /// The ports of one board.
  private struct Ports {
    var devices: DeviceRegistry
    var listeners: [Listener]
    /// Log lines about ports that were opened, or could not be opened.
    var reports: [(priority: JournalSink.Priority, text: String)] = []
    /// Whether some ports could not be opened.
    var isIncomplete = false
  }

  /// `POLLRDHUP`, which Swift's Glibc module lacks. It shows that a client has left even if the server does not read
  /// from it.
  private static let hasLeft: Int32 = 0x2000
  private static let noFiles = "the process has reached its limit of open files"
  /// Refused clients are logged at most once in this time.
  private static let refusalWindow = Duration.seconds(60)

  private let host: HubHost
  private let path: SocketPath
  /// The folder of the Unix sockets, as checked at the start.
  public let folder: Folder
  private let sink: JournalSink
  private let fixed: [Listener]
  private let firstPorts: Ports
  private let outputs: [StreamKind: any StreamOutput]
  private let recordings: RecordOutput
  private let budget: DescriptorBudget
  private let refusals: [StreamKind: RepeatedLines]
  private let stop = StopSignal()
  /// Makes the thread check its clients and ports again.
  private let wake = WakeSignal()
  /// Makes the thread try the missing ports again.
  private let retry = WakeSignal()
  private let missing: MissingPorts
  private let hasEnded = MutableProperty(false)
  private let reserve = Guarded(open("/dev/null", O_RDONLY | O_CLOEXEC))

  /// Listens at once, so that an error is known before other services start.
  public init(host: HubHost, path: SocketPath, sink: JournalSink, budget: DescriptorBudget) throws(SocketError) {
    self.host = host
    self.path = path
    self.sink = sink
    self.budget = budget
    refusals = StreamServer.refusals(to: sink)
    missing = MissingPorts { [retry] in retry.raise() }
    recordings = RecordOutput(host: host, sink: sink)
    outputs = [
      .devices: DevicesOutput(host: host), .state: StateOutput(host: host), .record: recordings,
      .gpsd: GPSDOutput(host: host), .signalK: SignalKOutput(host: host),
      .bridge: BridgeOutput(host: host, sink: sink),
    ]
    folder = try StreamServer.folder(of: path)
    firstPorts = StreamServer.openPorts(of: host.hub.registry.value, host, replacing: [])
    do throws(SocketError) {
      fixed = try StreamServer.listen(path, in: folder)
    } catch {
      for listener in firstPorts.listeners { close(listener.descriptor) }
      throw error
    }
  }

  private static func folder(of path: SocketPath) throws(SocketError) -> Folder {
    do throws(SocketError) {
      return try path.openOwnFolder()
    } catch {
      // The folder may be that of the service, which this user may not use. If the service's hub answers, that is the
      // more helpful reason.
      if let trusted = try? path.openTrustedFolder(), let other = try? UnixSocket.connect(path.devices, in: trusted) {
        close(other)
        throw .inUse(path: path.state)
      }
      throw error
    }
  }

  /// Opens all Unix sockets, or none.
  private static func listen(_ path: SocketPath, in folder: Folder) throws(SocketError) -> [Listener] {
    var listeners: [Listener] = []
    // The state's socket comes last: when a client sees it, all other sockets exist.
    let wanted: [(kind: StreamKind, path: String)] = [
      (.devices, path.devices), (.record, path.record), (.state, path.state),
    ]
    do throws(SocketError) {
      for (kind, path) in wanted {
        listeners.append(Listener(descriptor: try UnixSocket.listen(path, in: folder), kind: kind))
      }
    } catch {
      for (listener, (_, path)) in zip(listeners, wanted) {
        close(listener.descriptor)
        folder.remove(SocketPath.name(of: path))
      }
      throw error
    }
    return listeners
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "ports", receiveValue: { [wake] _ in wake.raise() })
    let error = DetachedThread.start("clients") { [self] in
      serve()
      hasEnded.value = true
    }
    guard error == 0 else { throw SocketError.system(path: path.state, doing: "starting a thread for", errno: error) }
    await untilShutdown()
    boards.cancel()
    stop.set()
    // The wait does not end if the task is cancelled, because the sockets must be closed and removed.
    let waiting = Lifetime()
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      hasEnded.readOnly.subscribe(as: "clients", receiveValue: { if $0 { continuation.resume() } }).store(in: waiting)
    }
    waiting.end()
  }

  private func serve() {
    var ports = firstPorts
    report(ports)
    var clients: [StreamClient] = []
    missing.set(isMissing: ports.isIncomplete)
    var isRetryDue = false
    defer {
      missing.set(isMissing: false)
      for client in clients { client.end() }
      for listener in fixed + ports.listeners { close(listener.descriptor) }
      reserve.withLock { _ = close($0) }
      for path in [path.state, path.devices, path.record] { folder.remove(SocketPath.name(of: path)) }
      recordings.waitForEnds()
    }
    while true {
      let devices = host.hub.registry.value
      if devices !== ports.devices {
        ports = StreamServer.openPorts(of: devices, host, replacing: ports.listeners)
        report(ports)
        missing.set(isMissing: ports.isIncomplete)
        // A client that may no longer connect may not stay either.
        let (admitted, refused) = StreamServer.divide(clients, by: ports.listeners)
        for client in refused { client.end() }
        clients = admitted
      } else if isRetryDue {
        isRetryDue = false
        let said = Set(ports.reports.map(\.text))
        ports = StreamServer.openPorts(of: devices, host, replacing: ports.listeners)
        report(ports, unless: said)
        missing.set(isMissing: ports.isIncomplete)
      }
      let listeners = fixed + ports.listeners
      var descriptors =
        ([stop.fileDescriptor, wake.fileDescriptor, retry.fileDescriptor] + listeners.map(\.descriptor)).map {
          pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
      var earliest: MonotonicInstant?
      for client in clients {
        if let deadline = client.deadline { earliest = min(earliest ?? deadline, deadline) }
        let end = client.isDismissedAtEnd ? StreamServer.hasLeft : 0
        let events = (client.isHeard ? POLLIN : end) | (client.connection.deadline != nil ? POLLOUT : 0)
        descriptors.append(pollfd(fd: client.connection.descriptor, events: Int16(events), revents: 0))
      }
      let timeout = earliest.map { max(($0 - MonotonicClock().now).inSeconds, 0) * 1000 + 1 } ?? -1
      guard poll(&descriptors, nfds_t(descriptors.count), Int32(timeout)) >= 0 else { continue }
      if descriptors[0].revents != 0 { return }
      if descriptors[1].revents != 0 { wake.clear() }
      if descriptors[2].revents != 0 {
        retry.clear()
        isRetryDue = true
      }
      let now = MonotonicClock().now
      var present: [StreamClient] = []
      for (client, descriptor) in zip(clients, descriptors[(3 + listeners.count)...]) {
        if serve(client, Int32(descriptor.revents), now), client.proceed(now: now) {
          present.append(client)
        } else {
          client.end()
        }
      }
      clients = present
      for (listener, descriptor) in zip(listeners, descriptors[3...]) where descriptor.revents != 0 {
        accept(listener, &clients, now)
      }
    }
  }

  /// Writes waiting bytes to a client and reads its requests, according to the events of poll(2).
  ///
  /// - Returns: whether the client is still there
  private func serve(_ client: StreamClient, _ events: Int32, _ now: MonotonicInstant) -> Bool {
    if events & (POLLHUP | POLLERR | StreamServer.hasLeft) != 0 { return false }
    if events & POLLOUT != 0, !client.connection.writeWaiting() { return false }
    guard events & POLLIN != 0 else { return true }
    return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { buffer in
      let count = clinux_receive_now(client.connection.descriptor, buffer.baseAddress, buffer.count)
      if count == 0 { return client.endOfInput() }
      if count < 0 { return errno == EAGAIN || errno == EINTR }
      if client.receive(buffer.bindMemory(to: UInt8.self)[..<count], now: now) { return true }
      refuse(
        client.kind, client.connection.peer,
        "the client speaks HTTP, TLS or another protocol that this port does not serve")
      return false
    }
  }

  /// Logs what has changed about the ports.
  ///
  /// - Parameter said: the reports of the previous attempt, which are not repeated
  private func report(_ ports: Ports, unless said: Set<String> = []) {
    for report in ports.reports where !said.contains(report.text) { sink.write(report.priority, report.text) }
  }

  /// Opens the ports of a board file. Unchanged ports stay open. The other present ports are closed first, because a
  /// new port may need the address of one of them.
  private static func openPorts(of devices: DeviceRegistry, _ host: HubHost, replacing present: [Listener]) -> Ports {
    var ports = Ports(devices: devices, listeners: [])
    let wanted = StreamServer.ports(of: devices.board, host, replacing: present.compactMap(\.port))
    for listener in present where !wanted.contains(where: { listener.suits($0.kind, $0.port.socket) }) {
      close(listener.descriptor)
    }
    for (kind, port) in wanted {
      if ports.listeners.contains(where: { $0.port?.socket == port.socket }) {
        ports.reports.append((.warning, "\(kind.title) is not served: the board file has \(port.socket) twice"))
        continue
      }
      if var listener = present.first(where: { $0.suits(kind, port.socket) }) {
        if let device = port.device, device != listener.port?.device {
          ports.reports.append(bridgeReport("\(kind.title) on \(port.socket)", to: device, host))
        }
        listener.port = port
        ports.listeners.append(listener)
        continue
      }
      do throws(SocketError) {
        let descriptor = try TCPSocket.listen(port.socket)
        ports.listeners.append(Listener(descriptor: descriptor, kind: kind, port: port))
        let place = "\(kind.title) on \(port.socket), open to \(port.endpoint.audience)"
        if let device = port.device {
          ports.reports.append(bridgeReport(place, to: device, host))
        } else {
          ports.reports.append((.notice, place))
        }
      } catch {
        ports.isIncomplete = true
        ports.reports.append((.warning, "\(kind.title) is not served yet: \(error); trying again"))
      }
    }
    return ports
  }

  /// Warns that clients may write to a receiver.
  private static func bridgeReport(
    _ place: String, to device: String, _ host: HubHost
  ) -> (priority: JournalSink.Priority, text: String) {
    let isSimulated = host.hub.devices.first { $0.id == device }?.origin == .simulated
    return (.warning, "\(place): clients may write to \(device)\(isSimulated ? " (SIMULATED)" : "")")
  }

  /// The ports of a board. A port with an unchanged NMEA feed keeps its output, so that its clients keep their
  /// sessions.
  private static func ports(
    of board: Board, _ host: HubHost, replacing present: [StreamPort]
  ) -> [(kind: StreamKind, port: StreamPort)] {
    var ports: [(kind: StreamKind, port: StreamPort)] = []
    if let endpoint = board.gpsdEndpoint {
      ports += endpoint.sockets.map { (.gpsd, StreamPort(socket: $0, endpoint: endpoint, parts: board.gpsdParts)) }
    }
    if let endpoint = board.signalK?.endpoint {
      ports += endpoint.sockets.map { (.signalK, StreamPort(socket: $0, endpoint: endpoint)) }
    }
    // A recorded receiver cannot be written to.
    if let bridge = board.bridge, host.replay == nil {
      ports += bridge.endpoint.sockets.map {
        (.bridge, StreamPort(socket: $0, endpoint: bridge.endpoint, device: bridge.device))
      }
    }
    var outputs = present.compactMap(\.nmea)
    for port in board.nmea {
      guard let endpoint = port.endpoint else { continue }
      let output = outputs.first { $0.feed == port.feed } ?? NMEAOutput(host: host, feed: port.feed)
      outputs.append(output)
      ports += endpoint.sockets.map {
        (.nmea, StreamPort(socket: $0, endpoint: endpoint, nmea: output))
      }
    }
    return ports
  }

  private static func divide(
    _ clients: [StreamClient], by ports: [Listener]
  ) -> (admitted: [StreamClient], refused: [StreamClient]) {
    var result: (admitted: [StreamClient], refused: [StreamClient]) = ([], [])
    for client in clients {
      guard let address = client.address, let present = client.port else {
        result.admitted.append(client)
        continue
      }
      // The port to which the client connected, or another one that serves the same.
      let open = ports.filter { $0.kind == client.kind }.compactMap(\.port).filter {
        $0.nmea === present.nmea && $0.parts == present.parts && $0.device == present.device
          && $0.endpoint.admits(address)
      }
      client.port = open.first { $0.socket == present.socket } ?? open.first
      if client.port != nil { result.admitted.append(client) } else { result.refused.append(client) }
    }
    return result
  }

  // MARK: Newcomers

  private func accept(_ listener: Listener, _ clients: inout [StreamClient], _ now: MonotonicInstant) {
    guard let (descriptor, isLast) = accept(listener.descriptor) else { return }
    defer { if isLast { reserve.withLock { $0 = open("/dev/null", O_RDONLY | O_CLOEXEC) } } }
    let address: IPAddress?
    let peer: ClientPeer
    var guest: LocalAdmission.Guest?
    if let port = listener.port {
      guard let other = TCPSocket.prepare(descriptor) else {
        close(descriptor)
        return
      }
      peer = ClientPeer(other)
      address = other.address
      let reason =
        isLast ? StreamServer.noFiles : makeRoom(for: other.address, at: port, listener.kind, &clients)
      if let reason {
        close(descriptor)
        return refuse(listener.kind, peer, reason)
      }
    } else {
      peer = UnixSocket.peer(descriptor)
      address = nil
      let newcomer = UnixSocket.guest(descriptor)
      guest = newcomer
      // A request for the devices is answered at once and closed, so there is always room for it.
      if listener.kind != .devices,
        let reason = isLast
          ? StreamServer.noFiles
          : LocalAdmission.refusal(
            of: newcomer, to: budget.unixSockets, among: clients.compactMap(\.guest), own: getuid())
      {
        StreamServer.tell(descriptor, reason)
        close(descriptor)
        return refuse(listener.kind, peer, reason)
      }
    }
    let connection = StreamConnection(
      descriptor: descriptor, peer: peer, traffic: listener.kind.counted(in: host.traffic)
    ) {
      [wake] in wake.raise()
    }
    let served: (any StreamOutput)? = listener.port?.nmea ?? outputs[listener.kind]
    guard let output = served else { return connection.close() }
    let client = StreamClient(connection, of: listener.kind, at: address, served: output, now: now)
    client.port = listener.port
    client.guest = guest
    if client.proceed(now: now) { clients.append(client) } else { client.end() }
  }

  /// Makes room for a client at a port.
  ///
  /// - Returns: the reason if that is impossible; otherwise `nil`
  private func makeRoom(
    for address: IPAddress, at port: StreamPort, _ kind: StreamKind, _ clients: inout [StreamClient]
  ) -> String? {
    guard port.endpoint.admits(address) else {
      return "its address is not in a network that the board file allows"
    }
    let ports = kind == .nmea ? max(host.hub.board.nmea.count { $0.endpoint != nil }, 1) : 1
    let places = min(port.endpoint.clients ?? .max, max(budget.streamPort / ports, 1))
    let guests = clients.indices.filter { clients[$0].kind == kind && clients[$0].port?.endpoint == port.endpoint }
    let admission = Admission(
      of: address, to: places,
      among: guests.map { .init(machine: clients[$0].address?.machine ?? [], isBare: clients[$0].isBare) })
    switch admission {
    case .welcome: return nil
    case .refused(let reason): return reason
    case .inPlace(let index):
      let client = clients.remove(at: guests[index])
      client.end()
      refuse(kind, client.connection.peer, "it has never sent a request, and other clients need its connection")
      return nil
    }
  }

  /// Tells a program on this machine why it is refused.
  private static func tell(_ descriptor: Int32, _ reason: String) {
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    json.member("class", literal: "ERROR")
    json.member("message", reason)
    json.endObject()
    json.endLine()
    _ = clinux_send_now(descriptor, json.bytes.baseAddress, json.count)
  }

  /// Counts a refused client, and logs refusals at a limited rate.
  private func refuse(_ kind: StreamKind, _ peer: ClientPeer, _ reason: String) {
    kind.counted(in: host.traffic).clientRefused()
    if refusals[kind]?.admit() == true { sink.write(.warning, "\(kind.title): \(peer) is refused: \(reason)") }
  }

  private static func refusals(to sink: JournalSink) -> [StreamKind: RepeatedLines] {
    Dictionary(
      uniqueKeysWithValues: StreamKind.allCases.map { kind in
        let seconds = Text.fixed(refusalWindow.inSeconds, 0)
        let lines = RepeatedLines(limit: 1, within: refusalWindow, clock: MonotonicClock()) { count in
          sink.write(.warning, "\(kind.title): \(count) more refused within \(seconds) s")
        }
        return (kind, lines)
      })
  }

  /// Accepts a connection, and reports whether it has the last descriptor. One descriptor is kept in reserve to accept
  /// and close connections that exceed the limit, because poll(2) would report a waiting connection again and again.
  private func accept(_ listener: Int32) -> (descriptor: Int32, isLast: Bool)? {
    let descriptor = clinux_accept(listener)
    if descriptor >= 0 { return (descriptor, false) }
    guard errno == EMFILE || errno == ENFILE else { return nil }
    reserve.withLock { _ = close($0) }
    let last = clinux_accept(listener)
    if last >= 0 { return (last, true) }
    reserve.withLock { $0 = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    return nil
  }
}
