import Hub

/// One address of an output's that clients connect to.
struct StreamPort {
  var socket: TCPAddress
  var endpoint: TCPEndpoint
  /// The particular service, if there are several ports of a kind.
  var nmea: NMEAOutput?
  /// Which devices a watch of the gpsd protocol wakes.
  var parts = Set<StatePart>.all
}
