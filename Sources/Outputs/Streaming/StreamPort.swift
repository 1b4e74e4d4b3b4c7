import Hub

/// An address at which clients connect to an output.
struct StreamPort {
  var socket: TCPAddress
  var endpoint: TCPEndpoint
  /// The service of this port, if there are several ports of its kind.
  var nmea: NMEAOutput?
  /// The parts of the state for which a gpsd watch wakes devices.
  var parts = Set<StatePart>.all
}
