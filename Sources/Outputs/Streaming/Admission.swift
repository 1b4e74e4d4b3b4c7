import Hub

/// Decides which clients are admitted. An output has slots for a number of clients, and each machine may have a share
/// of them.
enum Admission: Equatable {
  case welcome
  /// Admitted. To make room, the client at this index, which has never sent a request, is disconnected.
  case inPlace(of: Int)
  /// Refused, with the reason as the rest of a sentence after "is refused: ".
  case refused(String)

  /// A client that is connected now.
  struct Guest {
    /// The client's machine: `IPAddress.machine`.
    var machine: [UInt8]
    var isBare: Bool
  }

  /// The maximum number of slots for one machine: half of all slots for this machine, a quarter for another one.
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

/// Decides which clients are admitted at the Unix sockets. One program never gets all slots, and some slots are
/// reserved for root and the hub's own user.
enum LocalAdmission {
  /// A client, as identified by the kernel.
  struct Guest: Equatable, Sendable {
    var process: Int32
    var user: UInt32
  }

  /// The reason for a refusal, as the rest of a sentence after "is refused: "; `nil` if the client is admitted.
  ///
  /// - Parameters:
  ///   - places: the maximum number of clients
  ///   - guests: the present clients
  ///   - own: the hub's user
  static func refusal(of newcomer: Guest, to places: Int, among guests: [Guest], own: UInt32) -> String? {
    func isKeeper(_ guest: Guest) -> Bool { guest.user == 0 || guest.user == own }
    let share = max(1, places / 2)
    let ofProcess = guests.count { $0.process == newcomer.process }
    if ofProcess >= share { return "its process has \(ofProcess) connections, the maximum for one process" }
    if !isKeeper(newcomer) {
      let ofUser = guests.count { $0.user == newcomer.user }
      if ofUser >= share { return "its user has \(ofUser) connections, the maximum for one user" }
      let ofOthers = guests.count { !isKeeper($0) }
      if ofOthers >= places - places / 4 {
        return "other users have \(ofOthers) connections, the maximum for them together"
      }
    }
    return guests.count >= places ? "there are \(guests.count) connections, the maximum" : nil
  }
}
