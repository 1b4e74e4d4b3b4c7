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
    if ofProcess >= share { return "\(ofProcess) of its process are connected, which is its share" }
    if !isKeeper(newcomer) {
      let ofUser = guests.count { $0.user == newcomer.user }
      if ofUser >= share { return "\(ofUser) of its user are connected, which is their share" }
      let ofOthers = guests.count { !isKeeper($0) }
      if ofOthers >= places - places / 4 { return "\(ofOthers) of other users are connected, which is their share" }
    }
    return guests.count >= places ? "\(guests.count) are connected, which is all there is room for" : nil
  }
}
