import Hub

extension Board {
  /// The board without the parts that would affect this machine or others. A replay must not set the clock, record, log
  /// states, send datagrams, NMEA 2000 or MAVLink, have a raw bridge, run hooks, make standing requests, use a pulse, or
  /// connect to a broker, a caster or a Signal K server.
  var asReplayed: Board {
    var board = self
    board.record = nil
    board.chronySocket = nil
    board.journalsState = false
    board.nmea.removeAll { $0.target != nil }
    board.gdl90 = nil
    board.nmea2000 = nil
    board.mavlink = nil
    board.signalKServers = []
    board.bridge = nil
    board.hooks = []
    board.requests = []
    board.fleet = nil
    for (index, device) in board.devices.enumerated() {
      guard case .receiver(var receiver) = device else { continue }
      receiver.pulse = nil
      receiver.caster = nil
      board.devices[index] = .receiver(receiver)
    }
    return board
  }

  /// The board for the replay of a recording, which anyone may have made. In addition to `asReplayed`, the board names
  /// no file of this machine, makes no browser load data from elsewhere, and lets only this machine connect.
  var asReplayedFromRecording: Board {
    var board = asReplayed
    if var http = board.http {
      http.tokenFile = nil
      http.hosts = []
      http.tiles = nil
      http.attribution = nil
      http.endpoint = http.endpoint.ofThisMachine
      board.http = http
    }
    board.gpsdEndpoint = board.gpsdEndpoint?.ofThisMachine
    if let endpoint = board.signalK?.endpoint { board.signalK?.endpoint = endpoint.ofThisMachine }
    for (index, port) in board.nmea.enumerated() {
      if let endpoint = port.endpoint { board.nmea[index].place = .clients(endpoint.ofThisMachine) }
    }
    return board
  }
}

extension TCPEndpoint {
  /// The same port, open to this machine only.
  fileprivate var ofThisMachine: TCPEndpoint {
    var endpoint = self
    let own = addresses.filter(\.isLoopback)
    endpoint.addresses = own.isEmpty ? [.loopbackIPv4] : own
    endpoint.allow = []
    return endpoint
  }
}
