import Hub

/// Decides which clients are admitted. An output has slots for a number of clients, and each machine may have a share
/// of them.
enum Admission: Equatable {
  case welcome
  /// Admitted. To make room, the client at this index, which has never sent a request, is disconnected.
  case inPlace(of: Int)
  /// Refused, with the reason as the rest of a sentence after "is refused: ".
  case refused(String)

  /// A present client.
  struct Guest {
    /// The client's machine: `IPAddress.machine`.
    var machine: [UInt8]
    var isBare: Bool
  }

  /// The maximum number of slots for one machine: half of them for programs on this machine, a quarter for another
  /// machine.
  static func share(of address: IPAddress, among places: Int) -> Int { max(1, places / (address.isLoopback ? 2 : 4)) }

  /// Decides about a newcomer. If there is no room, the oldest client that has never sent a request is disconnected.
  ///
  /// - Parameters:
  ///   - guests: the clients of the same output, in the order of their arrival
  ///   - places: the maximum number of clients
  init(of newcomer: IPAddress, to places: Int, among guests: [Guest]) {
    let machine = newcomer.machine
    let share = Admission.share(of: newcomer, among: places)
    let own = guests.count { $0.machine == machine }
    if own >= share {
      let bare = guests.firstIndex { $0.isBare && $0.machine == machine }
      self =
        bare.map { .inPlace(of: $0) } ?? .refused("its machine has \(own) connections, the maximum for one machine")
    } else if guests.count >= places {
      let bare = guests.firstIndex(where: \.isBare)
      self = bare.map { .inPlace(of: $0) } ?? .refused("there are \(guests.count) connections, the maximum")
    } else {
      self = .welcome
    }
  }
}
