import CLinux
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// Accepts new clients at all stream sockets, or refuses them. `Admission` and `LocalAdmission` decide whom to refuse.
final class StreamReception: Sendable {
  private static let noFiles = "the process has reached its limit of open files"
  /// Refused clients are logged at most once in this time.
  private static let refusalWindow = Duration.seconds(60)

  private let host: HubHost
  private let sink: JournalSink
  private let budget: DescriptorBudget
  private let outputs: [StreamKind: any StreamOutput]
  private let refusals: [StreamKind: RepeatedLines]
  /// The signal that a client has something for the server's thread.
  private let wake: WakeSignal
  private let reserve = Guarded(open("/dev/null", O_RDONLY | O_CLOEXEC))

  /// - Parameter outputs: the output of each kind, except for NMEA ports, which have one each
  init(
    host: HubHost, sink: JournalSink, budget: DescriptorBudget, outputs: [StreamKind: any StreamOutput],
    wake: WakeSignal
  ) {
    self.host = host
    self.sink = sink
    self.budget = budget
    self.outputs = outputs
    self.wake = wake
    refusals = StreamReception.refusals(to: sink)
  }

  /// Accepts no further clients.
  func end() { reserve.withLock { _ = close($0) } }

  func accept(_ listener: StreamListener, _ clients: inout [StreamClient], _ now: MonotonicInstant) {
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
        isLast ? StreamReception.noFiles : makeRoom(for: other.address, at: port, listener.kind, &clients)
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
          ? StreamReception.noFiles
          : LocalAdmission.refusal(
            of: newcomer, to: budget.unixSockets, among: clients.compactMap(\.guest), own: getuid())
      {
        StreamReception.tell(descriptor, reason)
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
  func refuse(_ kind: StreamKind, _ peer: ClientPeer, _ reason: String) {
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
