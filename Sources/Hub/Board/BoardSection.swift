/// An object of a board file, with the keys that have been read from it. `finish()` refuses the other keys.
struct BoardSection {
  let file: String
  let path: String
  /// The path with `NAME` in place of the user's names, and without numbers: `devices.NAME.power`, `nmea`.
  private let pattern: String
  /// Notes which keys are read; `nil` if nothing has to.
  private var probe: KeyProbe?
  /// The line on which the section begins.
  let line: Int
  private let values: [String: JSONValue]
  /// The keys in the order of the file.
  let keys: [String]
  private var known: Set<String> = []

  init(
    file: String, path: String, pattern: String? = nil, line: Int, members: [JSONValue.Member], probe: KeyProbe? = nil
  ) {
    self.file = file
    self.path = path
    self.pattern = pattern ?? path
    self.probe = probe
    self.line = line
    keys = members.map(\.key)
    values = Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) })
  }

  /// The section of a whole file.
  init(json5 bytes: [UInt8], file: String) throws(BoardError) {
    let document: JSONValue
    do throws(JSON5Parser.Failure) {
      document = try JSON5Parser.parse(bytes)
    } catch {
      throw .syntax(file: file, line: error.line, reason: error.reason)
    }
    guard case .object(let members) = document.content else {
      throw .syntax(file: file, line: document.line, reason: "the file must be one object: { … }")
    }
    self.init(file: file, path: "", line: document.line, members: members)
  }

  /// Refuses control characters in any key or string, at any depth.
  ///
  /// Values of a board file go into systemd units, logs, terminals and pages, where a line end could add a line. No
  /// valid name or path contains one.
  func refuseControlCharacters() throws(BoardError) {
    for key in keys {
      guard !key.unicodeScalars.contains(where: BoardSection.isControl) else {
        let shown = key.unicodeScalars.map { BoardSection.isControl($0) ? "\u{FFFD}" : String($0) }.joined()
        throw .wrongValue(
          file: file, line: values[key]?.line ?? line, keyPath: keyPath(shown),
          expected: "a key without control characters such as line ends")
      }
      if let value = values[key] { try refuseControlCharacters(in: value, keyPath(key)) }
    }
  }

  private func refuseControlCharacters(in value: JSONValue, _ keyPath: String) throws(BoardError) {
    switch value.content {
    case .string(let text):
      guard let scalar = text.unicodeScalars.first(where: BoardSection.isControl) else { return }
      let digits = String(scalar.value, radix: 16, uppercase: true)
      let number = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      throw .wrongValue(
        file: file, line: value.line, keyPath: keyPath,
        expected: "a text without control characters such as line ends; it has U+\(number)")
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        try refuseControlCharacters(in: element, "\(keyPath)[\(index)]")
      }
    case .object(let members):
      try BoardSection(file: file, path: keyPath, line: value.line, members: members).refuseControlCharacters()
    default: break
    }
  }

  /// Whether a character ends a line or controls a terminal: Unicode's categories Cc, Zl and Zp.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
    default: false
    }
  }

  func keyPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  private func keyPattern(_ key: String) -> String { pattern.isEmpty ? key : "\(pattern).\(key)" }

  private var place: KeyProbe.Place { .init(path: path, pattern: pattern) }

  /// The same section, with a probe that notes which keys are read from it and from the sections in it.
  func probed(by probe: KeyProbe) -> BoardSection {
    var section = self
    section.probe = probe
    return section
  }

  func wrong(_ key: String, expected: String) -> BoardError {
    .wrongValue(file: file, line: values[key]?.line ?? line, keyPath: keyPath(key), expected: expected)
  }

  /// An error about the section itself.
  func wrong(expected: String) -> BoardError {
    .wrongValue(file: file, line: line, keyPath: path, expected: expected)
  }

  func missing(_ key: String) -> BoardError {
    // A similar key that was not read, and holds a plain value, is probably a misspelling of the missing key.
    let meant = values.keys.sorted().first { other in
      switch values[other]?.content {
      case .string, .number, .boolean: !known.contains(other) && editDistance(other, key) <= 2
      default: false
      }
    }
    guard let meant else { return .missingKey(file: file, line: line, keyPath: keyPath(key)) }
    return .unknownKey(file: file, line: values[meant]?.line ?? line, keyPath: keyPath(meant), nearest: keyPath(key))
  }

  /// The number of values in the object, with those in its objects and lists.
  var size: Int { values.values.reduce(0) { $0 + BoardSection.size($1) } }

  private static func size(_ value: JSONValue) -> Int {
    switch value.content {
    case .object(let members): members.reduce(1) { $0 + size($1.value) }
    case .array(let elements): elements.reduce(1) { $0 + size($1) }
    default: 1
    }
  }

  func has(_ key: String) -> Bool { values[key].map { $0.content != .null } ?? false }

  private mutating func value(_ key: String, asObject: Bool = false) -> JSONValue.Content? {
    known.insert(key)
    probe?.note(key, asObject: asObject, in: place)
    let content = values[key]?.content
    return content == .null ? nil : content
  }

  mutating func section(_ key: String) throws(BoardError) -> BoardSection? {
    _ = value(key, asObject: true)
    if let section = try object(key, pattern: keyPattern(key)) { return section }
    let place = KeyProbe.Place(path: keyPath(key), pattern: keyPattern(key))
    guard let probe, probe.pretends(place) else { return nil }
    return BoardSection(
      file: file, path: place.path, pattern: place.pattern, line: line, members: [], probe: probe)
  }

  private func object(_ key: String, pattern: String) throws(BoardError) -> BoardSection? {
    switch values[key]?.content {
    case nil, .null: return nil
    case .object(let members):
      return BoardSection(
        file: file, path: keyPath(key), pattern: pattern, line: values[key]?.line ?? line, members: members,
        probe: probe)
    default: throw wrong(key, expected: "an object")
    }
  }

  /// One object, or a list of them; an empty list if the key is missing.
  mutating func sections(_ key: String) throws(BoardError) -> [BoardSection] {
    guard case .array(let elements) = value(key, asObject: true) else { return try section(key).map { [$0] } ?? [] }
    var sections: [BoardSection] = []
    for (index, element) in elements.enumerated() {
      guard case .object(let members) = element.content else {
        throw wrong(key, expected: "an object or a list of objects")
      }
      sections.append(
        BoardSection(
          file: file, path: "\(keyPath(key))[\(index)]", pattern: keyPattern(key), line: element.line, members: members,
          probe: probe))
    }
    return sections
  }

  /// The members of an object with free keys, in the order of the file.
  mutating func namedSections(_ key: String) throws(BoardError) -> [(name: String, section: BoardSection)] {
    guard let section = try section(key) else { return [] }
    var named: [(name: String, section: BoardSection)] = []
    for name in section.keys {
      if let member = try section.object(name, pattern: section.keyPattern("NAME")) { named.append((name, member)) }
    }
    return named
  }

  mutating func string(_ key: String) throws(BoardError) -> String? {
    switch value(key) {
    case nil: return nil
    case .string(let value): return value
    default: throw wrong(key, expected: "a string")
    }
  }

  mutating func strings(_ key: String) throws(BoardError) -> [String]? {
    guard let value = value(key) else { return nil }
    guard case .array(let elements) = value else { throw wrong(key, expected: "a list of strings") }
    var strings: [String] = []
    for element in elements {
      guard case .string(let string) = element.content else { throw wrong(key, expected: "a list of strings") }
      strings.append(string)
    }
    return strings
  }

  /// The parts of the state that a key names.
  mutating func parts(_ key: String) throws(BoardError) -> Set<StatePart>? {
    guard let names = try strings(key) else { return nil }
    guard let parts = Set(names: names) else {
      throw wrong(key, expected: "a list of some of \(Set<StatePart>.all.names)")
    }
    return parts
  }

  mutating func stringOrStrings(_ key: String) throws(BoardError) -> [String]? {
    switch value(key) {
    case nil: return nil
    case .string(let value): return [value]
    case .array: return try strings(key)
    default: throw wrong(key, expected: "a string or a list of strings")
    }
  }

  /// A required name or path.
  mutating func required(_ key: String) throws(BoardError) -> String {
    guard let value = try name(key) else { throw missing(key) }
    return value
  }

  /// A name or a path. It must not be empty, and must not contain a NUL, which ends a string in C.
  mutating func name(_ key: String) throws(BoardError) -> String? {
    guard let value = try string(key) else { return nil }
    guard !value.isEmpty, !value.utf8.contains(0) else {
      throw wrong(key, expected: "a text, not empty and without NUL")
    }
    return value
  }

  mutating func boolean(_ key: String) throws(BoardError) -> Bool? {
    switch value(key) {
    case nil: return nil
    case .boolean(let value): return value
    default: throw wrong(key, expected: "true or false")
    }
  }

  mutating func number(_ key: String, in range: ClosedRange<Double>) throws(BoardError) -> Double? {
    switch value(key) {
    case nil: return nil
    case .number(let value) where range.contains(value): return value
    default: throw wrong(key, expected: "a number from \(range.messageText)")
    }
  }

  mutating func numbers(_ key: String, in range: ClosedRange<Double>) throws(BoardError) -> [Double]? {
    guard let value = value(key) else { return nil }
    let expected = "a list of numbers from \(range.messageText)"
    guard case .array(let elements) = value else { throw wrong(key, expected: expected) }
    var numbers: [Double] = []
    for element in elements {
      guard case .number(let number) = element.content, range.contains(number) else {
        throw wrong(key, expected: expected)
      }
      numbers.append(number)
    }
    return numbers
  }

  /// A list of numbers. Any other value gives an empty list, which the caller refuses with an error that lists the
  /// permitted values.
  mutating func numberRow(_ key: String) -> [Double]? { value(key).map(BoardSection.numberRow) }

  /// A list of lists of numbers. Any other value gives an empty list.
  mutating func numberRows(_ key: String) -> [[Double]]? {
    value(key).map { value in
      guard case .array(let rows) = value else { return [] }
      return rows.map { BoardSection.numberRow($0.content) }
    }
  }

  private static func numberRow(_ value: JSONValue.Content) -> [Double] {
    guard case .array(let elements) = value else { return [] }
    let numbers = elements.compactMap { element -> Double? in
      if case .number(let number) = element.content { number } else { nil }
    }
    return numbers.count == elements.count ? numbers : []
  }

  mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(BoardError) -> Int? {
    switch value(key) {
    case nil: return nil
    case .number(let value) where range.contains(Int(exactly: value) ?? .min): return Int(value)
    default: throw wrong(key, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  mutating func seconds(_ key: String) throws(BoardError) -> Duration? {
    try number(key, in: 0...86_400).map { .nanoseconds(Int64($0 * 1e9)) }
  }

  /// A number of seconds. `true` stands for `usual`; `false` and a missing key give `nil`.
  mutating func seconds(
    _ key: String, orUsual usual: Double, in range: ClosedRange<Double>
  ) throws(BoardError) -> Duration? {
    switch value(key) {
    case nil, .boolean(false): return nil
    case .boolean(true): return .nanoseconds(Int64(usual * 1e9))
    case .number(let value) where range.contains(value): return .nanoseconds(Int64(value * 1e9))
    default:
      throw wrong(key, expected: "true, false, or a number of seconds from \(range.messageText)")
    }
  }

  mutating func milliseconds(_ key: String) throws(BoardError) -> Duration? {
    try number(key, in: 0...60_000).map { .nanoseconds(Int64($0 * 1e6)) }
  }

  /// Three numbers, each from `-limit` to `limit`.
  mutating func vector(_ key: String, limit: Double) throws(BoardError) -> SIMD3<Double>? {
    guard let value = value(key) else { return nil }
    guard let vector = BoardSection.vector(value), abs(vector.x) <= limit, abs(vector.y) <= limit,
      abs(vector.z) <= limit
    else {
      throw wrong(key, expected: "three numbers, each from \((-limit...limit).messageText): [x, y, z]")
    }
    return vector
  }

  /// Three rows of three numbers that form a rotation.
  mutating func rotation(_ key: String) throws(BoardError) -> MountMatrix? {
    guard let value = value(key) else { return nil }
    guard case .array(let rows) = value, rows.count == 3, let first = BoardSection.vector(rows[0].content),
      let second = BoardSection.vector(rows[1].content), let third = BoardSection.vector(rows[2].content),
      let matrix = MountMatrix(first, second, third)
    else { throw wrong(key, expected: "a rotation: three rows of three numbers, at right angles and right-handed") }
    return matrix
  }

  /// The case of an enumeration whose raw value is the key's string.
  mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, of type: Choice.Type
  ) throws(BoardError) -> Choice? where Choice.RawValue == String {
    guard let word = try string(key) else { return nil }
    guard let choice = Choice(rawValue: word) else {
      throw wrong(key, expected: "one of " + Choice.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))
    }
    return choice
  }

  /// Refuses keys that were not read. Call this last.
  func finish() throws(BoardError) {
    if let probe { return probe.noteEnd(of: place, keys: values) }
    guard let unknown = values.keys.filter({ !known.contains($0) }).min() else { return }
    let nearest = known.map { (key: $0, distance: editDistance($0, unknown)) }.min {
      ($0.distance, $0.key) < ($1.distance, $1.key)
    }
    // A key is suggested if its distance is at most 2, or at most half of the unknown key's length.
    let guess = nearest.flatMap { $0.distance <= max(2, unknown.count / 2) ? keyPath($0.key) : nil }
    throw .unknownKey(
      file: file, line: values[unknown]?.line ?? line, keyPath: keyPath(unknown), nearest: guess)
  }

  private static func vector(_ value: JSONValue.Content) -> SIMD3<Double>? {
    guard case .array(let elements) = value, elements.count == 3 else { return nil }
    var vector = SIMD3<Double>.zero
    for (index, element) in elements.enumerated() {
      guard case .number(let number) = element.content else { return nil }
      vector[index] = number
    }
    return vector
  }
}

/// The number of letters to add or remove to turn one word into the other. This is Levenshtein's distance, but a
/// changed letter counts twice, because people omit letters more often than they mistype them.
func editDistance(_ a: String, _ b: String) -> Int {
  let b = Array(b.lowercased())
  var row = Array(0...b.count)
  for (i, letter) in a.lowercased().enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for j in b.indices {
      let substituted = diagonal + (b[j] == letter ? 0 : 2)
      diagonal = row[j + 1]
      row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
    }
  }
  return row[b.count]
}
