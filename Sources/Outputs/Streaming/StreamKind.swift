/// What a stream socket serves.
enum StreamKind: CaseIterable {
  case devices, state, gpsd, nmea

  /// As it stands in the log.
  var title: String {
    switch self {
    case .devices: "devices.sock"
    case .state: "hub.sock"
    case .gpsd: "gpsd protocol"
    case .nmea: "NMEA 0183"
    }
  }

  func counted(in traffic: OutputTraffic) -> OutputTraffic.Kind {
    switch self {
    case .devices: traffic.devices
    case .state: traffic.state
    case .gpsd: traffic.gpsd
    case .nmea: traffic.nmea
    }
  }

  /// Connecting alone asks for something: who says nothing is a client all the same.
  var servesWhoeverConnects: Bool { self != .gpsd }

  /// Where a request may end: no two of them are in one piece.
  func endsRequest(_ byte: UInt8) -> Bool {
    switch self {
    case .gpsd: byte == UInt8(ascii: "}") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "\n")
    case .devices, .state, .nmea: byte == UInt8(ascii: "\n")
    }
  }

  /// Whether a request may change what its client holds; others only ask.
  func mayChangeLeases(_ request: ArraySlice<UInt8>) -> Bool {
    switch self {
    // `?WATCH={…}` sets, `?WATCH;` asks.
    case .gpsd: request.contains(UInt8(ascii: "="))
    case .state: request.contains(UInt8(ascii: "\n"))
    case .devices, .nmea: false
    }
  }
}
