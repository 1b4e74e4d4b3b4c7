import Hub

/// Decides which hooks of a changed board file are those of the previous one, and therefore keep their waiting events.
enum HookSuccession {
  /// The place of each hook's predecessor; `nil` for a new hook.
  ///
  /// A hook with the same action stays the same if its place in the file changes. Otherwise its events would be lost, or
  /// another hook would repeat events that it has handled. A hook at the same place with another action of the same
  /// kind is a corrected one.
  static func predecessors(of new: [HookSettings], among old: [HookSettings]) -> [Int?] {
    var places = [Int?](repeating: nil, count: new.count)
    for likeness in [Likeness.same, .moved, .corrected] {
      for index in new.indices where places[index] == nil {
        places[index] = old.indices.first { place in
          !places.contains(place) && HookSuccession.likeness(of: new[index], to: old[place]) == likeness
        }
      }
    }
    return places
  }

  private enum Likeness { case same, moved, corrected }

  private static func likeness(of new: HookSettings, to old: HookSettings) -> Likeness? {
    let isAtSamePlace = new.key == old.key
    if new.action == old.action, isAtSamePlace { return .same }
    if new.action == old.action, new.events == old.events { return .moved }
    return isAtSamePlace && new.action.isSameKind(as: old.action) ? .corrected : nil
  }
}

extension HookSettings.Action {
  fileprivate func isSameKind(as other: HookSettings.Action) -> Bool {
    switch (self, other) {
    case (.run, .run), (.post, .post), (.publish, .publish): true
    default: false
    }
  }
}
