import Hub

/// Who gets in where many want to: an output has so many places, and one machine so many of them.
enum Admission: Equatable {
  case welcome
  /// In place of the client at this index, who has never asked for anything.
  case inPlace(of: Int)
  /// With the reason, as it stands behind "is refused: ".
  case refused(String)

  /// Who is there already, as far as it matters.
  struct Guest {
    /// Of whom: `IPAddress.machine`.
    var machine: [UInt8]
    var isBare: Bool
  }

  /// What one machine may have of an output's places: half of them the board's own programs, a quarter another one.
  static func share(of address: IPAddress, among places: Int) -> Int { max(1, places / (address.isLoopback ? 2 : 4)) }

  /// Who has never asked for anything makes room, whoever came first of them first.
  ///
  /// - Parameters:
  ///   - guests: those of the same output, in the order in which they came
  ///   - places: how many there may be
  init(of newcomer: IPAddress, to places: Int, among guests: [Guest]) {
    let machine = newcomer.machine
    let share = Admission.share(of: newcomer, among: places)
    let own = guests.count { $0.machine == machine }
    if own >= share {
      let bare = guests.firstIndex { $0.isBare && $0.machine == machine }
      self = bare.map { .inPlace(of: $0) } ?? .refused("\(own) of its machine are connected, which is its share")
    } else if guests.count >= places {
      let bare = guests.firstIndex(where: \.isBare)
      self = bare.map { .inPlace(of: $0) } ?? .refused("\(guests.count) are connected, which is all there is room for")
    } else {
      self = .welcome
    }
  }
}
