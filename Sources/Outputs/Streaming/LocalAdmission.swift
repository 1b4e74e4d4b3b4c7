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
