import Hub

/// The kinds of service of a stream socket.
enum StreamKind: CaseIterable {
  case devices, state, record, gpsd, nmea, signalK, bridge

  /// The title in the log.
  var title: String {
    switch self {
    case .devices: "devices.sock"
    case .state: "hub.sock"
    case .record: "record.sock"
    case .gpsd: "gpsd protocol"
    case .nmea: "NMEA 0183"
    case .signalK: "Signal K"
    case .bridge: "raw bridge"
    }
  }

  func counted(in traffic: OutputTraffic) -> OutputTraffic.Kind {
    switch self {
    case .devices: traffic.devices
    case .state: traffic.state
    case .record: traffic.record
    case .gpsd: traffic.gpsd
    case .nmea: traffic.nmea
    case .signalK: traffic.signalK
    case .bridge: traffic.bridge
    }
  }

  /// Whether a connection is a request by itself, so that a client that sends nothing is served.
  var servesWhoeverConnects: Bool { self != .gpsd && self != .record && self != .signalK }

  /// The permitted first bytes of clients; `nil` if any printable byte is permitted.
  var firstLetters: [UInt8]? {
    switch self {
    // Clients send sentences of receivers or of AIS, possibly with a tag block before them (NMEA 0183, section 5.3).
    case .nmea: Array("$!\\".utf8)
    case .signalK: Array("{".utf8)
    case .devices, .state, .record, .gpsd, .bridge: nil
    }
  }

  /// Whether clients may begin with a message of a binary protocol.
  var permitsBinary: Bool { self == .bridge }

  /// The index after the first possible request, or the end of the bytes. A piece up to this index contains at most
  /// one request.
  func endOfRequest(in bytes: ArraySlice<UInt8>) -> Int {
    let end: Int? =
      switch self {
      // An object may span several lines.
      case .gpsd:
        bytes.indices.first { index in
          switch bytes[index] {
          case UInt8(ascii: "}"), UInt8(ascii: ";"): true
          case UInt8(ascii: "\n"): index + 1 == bytes.endIndex || bytes[index + 1] == UInt8(ascii: "?")
          default: false
          }
        }
      case .bridge: nil
      case .devices, .state, .record, .nmea, .signalK: bytes.firstIndex(of: UInt8(ascii: "\n"))
      }
    return end.map { $0 + 1 } ?? bytes.endIndex
  }

  /// Whether a request may change its client's leases; other requests only read.
  func mayChangeLeases(_ request: ArraySlice<UInt8>) -> Bool {
    switch self {
    // `?WATCH={…}` changes the watch; `?WATCH;` only reads it.
    case .gpsd: request.contains(UInt8(ascii: "="))
    case .state, .signalK: request.contains(UInt8(ascii: "\n"))
    // A client sends at most one request, or bytes that are no requests to the hub.
    case .devices, .record, .nmea, .bridge: false
    }
  }
}

/// An address at which clients connect to an output.
struct StreamPort {
  var socket: TCPAddress
  var endpoint: TCPEndpoint
  /// The output of an NMEA 0183 port, of which there may be several; `nil` for other kinds of ports.
  var nmea: NMEAOutput?
  /// The receiver of a raw bridge; `nil` for other kinds of ports.
  var device: String?
  /// The parts of the state for which a gpsd watch wakes devices.
  var parts = Set<StatePart>.all
}
