/// Who gets in at the Unix sockets: one program never has all their places, and other users leave some for root and for the
/// user that the hub runs as.
enum LocalAdmission {
  /// A client, as the kernel knows it.
  struct Guest: Equatable, Sendable {
    var process: Int32
    var user: UInt32
  }

  /// Why there is no place for somebody, as it stands behind "is refused: "; `nil` where there is one.
  ///
  /// - Parameters:
  ///   - places: how many there may be
  ///   - guests: those who are there
  ///   - own: who the hub runs as
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
