/// The paths of all values of a JSON object, such as `position.lat` or `energyByClient.run.payer`. Members of the
/// objects in a list are named like those of a single object.
struct JSONPaths: Decodable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// The paths; empty for a value without members, such as a number.
  private(set) var paths: Set<String> = []

  init(from decoder: any Decoder) throws {
    if let object = try? decoder.container(keyedBy: Key.self) {
      for key in object.allKeys {
        let inner = try object.decode(JSONPaths.self, forKey: key).paths
        let name = key.stringValue
        if inner.isEmpty { paths.insert(name) }
        for path in inner { paths.insert("\(name).\(path)") }
      }
    } else if var list = try? decoder.unkeyedContainer() {
      while !list.isAtEnd {
        let element = try list.decode(JSONPaths.self)
        paths.formUnion(element.paths)
      }
    }
  }

  /// The paths that no row describes. A row may end with a member whose own members have no rows; `*` in a row stands
  /// for any name.
  func without(rows: Set<String>) -> [String] {
    let plain = Set(rows.map { $0.replacing("[]", with: "") })
    return paths.filter { !JSONPaths.isListed($0, in: plain) }.sorted()
  }

  private static func isListed(_ path: String, in rows: Set<String>) -> Bool {
    let parts = path.split(separator: ".")
    return rows.contains { row in
      let names = row.split(separator: ".")
      guard names.count <= parts.count else { return false }
      let isSame = zip(names, parts).allSatisfy { $0 == "*" || $0 == $1 }
      guard isSame else { return false }
      return names.count == parts.count || !rows.contains { $0.hasPrefix("\(row).") }
    }
  }
}
