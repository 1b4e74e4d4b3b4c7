/// A kind of event that a hub lives through.
public enum Phase: String, CaseIterable, Sendable {
  /// Reads of the tty, a sentence each, with a client on every port.
  case reads
  /// Requests of `/metrics`.
  case scrapes
  /// Requests of `/state` and, every fourth, of `/devices`.
  case states
  /// `?POLL` and `?DEVICES` of one client.
  case polls
  /// Clients of the gpsd protocol that watch and leave.
  case watches
  /// Clients of `/events` that leave.
  case streams
  /// Clients of hub.sock that ask for a rate, for nonsense, and leave.
  case visits
  /// Power cycles of each device, from its rail on to its rail off.
  case cycles
  /// SIGHUPs, the board file changed each time, with clients on every port.
  case reloads
  /// Noise on the line, a hang-up of the tty, nonsense at the ports, and clients that are gone in the middle of it.
  case faults

  /// What a month brings to a hub that is used a good deal.
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
