import Glibc
import Hub

/// A socket at which the server accepts clients.
struct StreamListener {
  var descriptor: Int32
  var kind: StreamKind
  /// The port in the board file in service; `nil` for a Unix socket.
  var port: StreamPort?

  /// Whether the same socket can serve this port. The permission is checked again for each client.
  func suits(_ kind: StreamKind, _ socket: TCPAddress) -> Bool { self.kind == kind && port?.socket == socket }
}

/// The ports that one board file names, and the sockets that could be opened for them.
struct StreamPorts {
  let devices: DeviceRegistry
  private(set) var listeners: [StreamListener] = []
  /// Log lines about ports that were opened, or could not be opened.
  private(set) var reports: [(priority: JournalSink.Priority, text: String)] = []
  /// Whether some ports could not be opened.
  private(set) var isIncomplete = false

  /// Opens the ports of a board file. Unchanged ports stay open. The other present ports are closed first, because a
  /// new port may need the address of one of them.
  init(of devices: DeviceRegistry, _ host: HubHost, replacing present: [StreamListener] = []) {
    self.devices = devices
    let wanted = StreamPorts.wanted(by: devices.board, host, replacing: present.compactMap(\.port))
    for listener in present where !wanted.contains(where: { listener.suits($0.kind, $0.port.socket) }) {
      close(listener.descriptor)
    }
    for (kind, port) in wanted {
      if listeners.contains(where: { $0.port?.socket == port.socket }) {
        reports.append((.warning, "\(kind.title) is not served: the board file has \(port.socket) twice"))
        continue
      }
      if var listener = present.first(where: { $0.suits(kind, port.socket) }) {
        if let device = port.device, device != listener.port?.device {
          reports.append(StreamPorts.bridgeReport("\(kind.title) on \(port.socket)", to: device, host))
        }
        listener.port = port
        listeners.append(listener)
        continue
      }
      do throws(SocketError) {
        let descriptor = try TCPSocket.listen(port.socket)
        listeners.append(StreamListener(descriptor: descriptor, kind: kind, port: port))
        let place = "\(kind.title) on \(port.socket), open to \(port.endpoint.audience)"
        if let device = port.device {
          reports.append(StreamPorts.bridgeReport(place, to: device, host))
        } else {
          reports.append((.notice, place))
        }
      } catch {
        isIncomplete = true
        reports.append((.warning, "\(kind.title) is not served yet: \(error); trying again"))
      }
    }
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
  private static func wanted(
    by board: Board, _ host: HubHost, replacing present: [StreamPort]
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

  /// Divides the present clients into those that these ports still admit, and the others.
  func divide(_ clients: [StreamClient]) -> (admitted: [StreamClient], refused: [StreamClient]) {
    var result: (admitted: [StreamClient], refused: [StreamClient]) = ([], [])
    for client in clients {
      guard let address = client.address, let present = client.port else {
        result.admitted.append(client)
        continue
      }
      // Keep the client at the port to which it connected, or at another open port that serves the same data.
      let open = listeners.filter { $0.kind == client.kind }.compactMap(\.port).filter {
        $0.nmea === present.nmea && $0.parts == present.parts && $0.device == present.device
          && $0.endpoint.admits(address)
      }
      client.port = open.first { $0.socket == present.socket } ?? open.first
      if client.port != nil { result.admitted.append(client) } else { result.refused.append(client) }
    }
    return result
  }
}
