/// Notes in which objects of a board file the parser reads a key, while it parses the file once.
///
/// The parser has no table of its keys: an object's keys are those that were read from it.
final class KeyProbe {
  /// An object of a board file.
  struct Place: Equatable {
    /// For example `devices.gps.power`, `nmea[0]`.
    var path: String
    /// The path with `NAME` in place of the user's names, and without numbers: `devices.NAME.power`, `nmea`.
    var pattern: String
  }

  /// An object in which the key was read or found.
  struct Finding: Equatable {
    var place: Place
    /// Whether the key's value is an object, or a list of objects.
    var isObject: Bool
  }

  let key: String
  /// The path of an object that the file lacks, and that the parser finds without keys.
  private let pretended: String?
  /// The objects in which the parser reads the key.
  private(set) var readers: [Finding] = []
  /// The objects in which the file has the key.
  private(set) var owners: [Finding] = []
  /// The objects for which the parser looked, but which the file lacks.
  private(set) var absent: [Place] = []

  init(_ key: String, pretended: String? = nil) {
    self.key = key
    self.pretended = pretended
  }

  func note(_ key: String, asObject isObject: Bool, in place: Place) {
    let finding = Finding(place: place, isObject: isObject)
    if key == self.key, !readers.contains(finding) { readers.append(finding) }
  }

  /// Notes the keys of an object that was read to its end.
  func noteEnd(of place: Place, keys: [String: JSONValue]) {
    guard let value = keys[key] else { return }
    let isObject =
      switch value.content {
      case .object: true
      case .array(let elements): elements.contains { if case .object = $0.content { true } else { false } }
      default: false
      }
    owners.append(Finding(place: place, isObject: isObject))
  }

  /// Notes an object that the file lacks. Returns whether the parser must read an empty object instead.
  func pretends(_ place: Place) -> Bool {
    absent.append(place)
    return place.path == pretended
  }
}

/// The objects of a board file that a misplaced key belongs in.
enum KeyPlaces {
  /// The size of the largest file that is searched. Each trial reads the whole file, which would take a minute for
  /// thousands of devices. A person writes smaller files.
  fileprivate static let largestSize = 2000

  /// The paths of the objects that read a key, the most likely first; the path of the file's own object is empty.
  ///
  /// The first choice are the objects within the one that has the key, and then the objects around it. Of the other
  /// objects, one is named if it alone reads the key, and only if it is of another kind: another device may have a key
  /// that this one lacks.
  ///
  /// - Parameters:
  ///   - path: the path of the object that has the key, and does not read it
  ///   - root: the object of the whole file
  static func find(_ key: String, misplacedIn path: String, _ root: BoardSection) -> [String] {
    let probe = KeyProbe(key)
    _ = try? Board(reading: root.probed(by: probe))
    guard let owner = probe.owners.first(where: { $0.place.path == path }) else { return [] }
    var readers = probe.readers
    // One object of each kind is tried, first those within the object that has the key.
    var tried: Set<String> = []
    let inner = probe.absent.filter { isInner($0.path, path) }
    for place in inner + probe.absent where tried.insert(place.pattern).inserted {
      let probe = KeyProbe(key, pretended: place.path)
      _ = try? Board(reading: root.probed(by: probe))
      readers += probe.readers
    }
    let places = readers.filter { $0.isObject == owner.isObject }.map(\.place)
    let inside = places.filter { isInner($0.path, path) }
    if !inside.isEmpty { return distinct(inside.map { path.isEmpty ? $0.pattern : $0.path }) }
    let around = places.filter { isInner(path, $0.path) }
    if !around.isEmpty { return distinct(around.map(\.path)) }
    let others = distinct(places.map(\.pattern))
    let home = owner.place.pattern
    return others.count == 1 && others[0] != home && !isInner(others[0], home) ? others : []
  }

  private static func distinct(_ paths: [String]) -> [String] {
    paths.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  private static func isInner(_ path: String, _ outer: String) -> Bool {
    path != outer && (outer.isEmpty || path.hasPrefix(outer + ".") || path.hasPrefix(outer + "["))
  }
}

extension BoardError {
  /// The same error; if it concerns a key that belongs in another object, an error that names the object.
  ///
  /// - Parameter root: the object of the whole file
  func explained(in root: BoardSection) -> BoardError {
    guard case .unknownKey(let file, let line, let keyPath, let nearest) = self else { return self }
    guard root.size <= KeyPlaces.largestSize else { return self }
    let dot = keyPath.lastIndex(of: ".")
    let key = String(dot.map { keyPath[keyPath.index(after: $0)...] } ?? keyPath[...])
    let path = dot.map { String(keyPath[..<$0]) } ?? ""
    // A misspelling by one letter is likelier than a wrong place.
    if let nearest, editDistance(String(nearest.dropFirst(path.isEmpty ? 0 : path.count + 1)), key) <= 2 { return self }
    let places = KeyPlaces.find(key, misplacedIn: path, root)
    return places.isEmpty ? self : .misplacedKey(file: file, line: line, keyPath: keyPath, places: places)
  }
}
