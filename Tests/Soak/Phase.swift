/// A kind of event in the life of a hub.
public enum Phase: String, CaseIterable, Sendable {
  /// Reads of the tty, one sentence each, with a client on every port.
  case reads
  /// Requests for `/metrics`.
  case scrapes
  /// Requests for `/state` and, every fourth time, for `/devices`.
  case states
  /// `?POLL` and `?DEVICES` from one client.
  case polls
  /// Clients of the gpsd protocol that watch and leave.
  case watches
  /// Clients of `/events` that leave.
  case streams
  /// Clients of hub.sock that request a rate, send an invalid request, and leave.
  case visits
  /// Power cycles of each device, from switching its rail on to switching it off.
  case cycles
  /// SIGHUPs, each with a changed board file, with clients on every port.
  case reloads
  /// Noise on the line, a hang-up of the tty, invalid requests at the ports, and clients that disconnect in the
  /// middle of a request.
  case faults

  /// The number of events in a month, for a heavily used hub.
  var eventsInAMonth: Int {
    switch self {
    case .reads: 5_000_000
    case .scrapes, .states: 1_000_000
    case .polls, .watches, .streams, .visits: 100_000
    case .cycles: 20_000
    case .reloads, .faults: 1000
    }
  }
}
