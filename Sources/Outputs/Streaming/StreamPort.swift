import Hub

/// An address of an output that clients connect to.
struct StreamPort {
  var socket: TCPAddress
  var endpoint: TCPEndpoint
  /// The particular service, if there are several ports of a kind.
  var nmea: NMEAOutput?
  /// The parts of the state that a gpsd watch wakes devices for.
  var parts = Set<StatePart>.all
}
