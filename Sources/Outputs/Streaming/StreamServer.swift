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
  /// `POLLRDHUP`, which Swift's Glibc module lacks. It shows that a client has left even if the server does not read
  /// from it.
  private static let hasLeft: Int32 = 0x2000

  private let host: HubHost
  private let path: SocketPath
  /// The folder of the Unix sockets, as checked at the start.
  public let folder: Folder
  private let sink: JournalSink
  private let fixed: [StreamListener]
  private let firstPorts: StreamPorts
  private let reception: StreamReception
  private let recordings: RecordOutput
  private let stop = StopSignal()
  /// Makes the thread check its clients and ports again.
  private let wake = WakeSignal()
  /// Makes the thread try the missing ports again.
  private let retry = WakeSignal()
  private let missing: MissingPorts
  private let hasEnded = MutableProperty(false)

  /// Listens at once, so that an error is known before other services start.
  public convenience init(
    host: HubHost, path: SocketPath, sink: JournalSink, budget: DescriptorBudget
  ) throws(SocketError) {
    try self.init(host: host, path: path, sink: sink, budget: budget, requestClock: MonotonicClock())
  }

  /// - Parameter requestClock: the clock of the wait for the first request of a client of the state
  init(
    host: HubHost, path: SocketPath, sink: JournalSink, budget: DescriptorBudget,
    requestClock: any MonotonicTimeSource
  ) throws(SocketError) {
    self.host = host
    self.path = path
    self.sink = sink
    missing = MissingPorts { [retry] in retry.raise() }
    recordings = RecordOutput(host: host, sink: sink)
    let outputs: [StreamKind: any StreamOutput] = [
      .devices: DevicesOutput(host: host), .state: StateOutput(host: host, clock: requestClock), .record: recordings,
      .gpsd: GPSDOutput(host: host), .signalK: SignalKOutput(host: host),
      .bridge: BridgeOutput(host: host, sink: sink),
    ]
    reception = StreamReception(host: host, sink: sink, budget: budget, outputs: outputs, wake: wake)
    folder = try StreamServer.folder(of: path)
    firstPorts = StreamPorts(of: host.hub.registry.value, host)
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
  private static func listen(_ path: SocketPath, in folder: Folder) throws(SocketError) -> [StreamListener] {
    var listeners: [StreamListener] = []
    // The state's socket comes last: when a client sees it, all other sockets exist.
    let wanted: [(kind: StreamKind, path: String)] = [
      (.devices, path.devices), (.record, path.record), (.state, path.state),
    ]
    do throws(SocketError) {
      for (kind, path) in wanted {
        listeners.append(StreamListener(descriptor: try UnixSocket.listen(path, in: folder), kind: kind))
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
      reception.end()
      for path in [path.state, path.devices, path.record] { folder.remove(SocketPath.name(of: path)) }
      recordings.waitForEnds()
    }
    while true {
      let devices = host.hub.registry.value
      if devices !== ports.devices {
        ports = StreamPorts(of: devices, host, replacing: ports.listeners)
        report(ports)
        missing.set(isMissing: ports.isIncomplete)
        // A client that may no longer connect may not stay either.
        let (admitted, refused) = ports.divide(clients)
        for client in refused { client.end() }
        clients = admitted
      } else if isRetryDue {
        isRetryDue = false
        let said = Set(ports.reports.map(\.text))
        ports = StreamPorts(of: devices, host, replacing: ports.listeners)
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
        reception.accept(listener, &clients, now)
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
      reception.refuse(
        client.kind, client.connection.peer,
        "the client speaks HTTP, TLS or another protocol that this port does not serve")
      return false
    }
  }

  /// Logs the changes of the ports.
  ///
  /// - Parameter said: the reports of the previous attempt, which are not repeated
  private func report(_ ports: StreamPorts, unless said: Set<String> = []) {
    for report in ports.reports where !said.contains(report.text) { sink.write(report.priority, report.text) }
  }
}
