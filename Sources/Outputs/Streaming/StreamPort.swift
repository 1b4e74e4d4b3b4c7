import Hub

/// An address at which clients connect to an output.
struct StreamPort {
  var socket: TCPAddress
  var endpoint: TCPEndpoint
  /// The output of an NMEA 0183 port, of which there may be several; `nil` for other kinds of ports.
  var nmea: NMEAOutput?
  /// The parts of the state for which a gpsd watch wakes devices.
  var parts = Set<StatePart>.all
}
