import HardwareIO

/// All mistakes in a board file, not only the first.
///
/// The initializer reads the file, notes the first mistake, removes the mistaken part from its copy, and reads again,
/// until it finds no mistake. It does not note consequences of an earlier mistake.
public struct BoardMistakes: Sendable {
  /// The mistakes in the order in which a hub finds them.
  public private(set) var all: [BoardError] = []
  /// The board without the mistaken parts; `nil` if a device was removed, or if the file could not be checked to its
  /// end.
  public private(set) var rest: Board?

  /// The maximum number of mistakes to remove. A file with more is probably not a board file.
  private static let most = 100

  public init(file: String) throws(BoardError) {
    self.init(json5: try Board.bytes(of: file), file: file)
  }

  public init(json5 bytes: [UInt8], file: String) {
    let document: JSONValue
    do throws(JSON5Parser.Failure) {
      document = try JSON5Parser.parse(bytes)
    } catch {
      all = [.syntax(file: file, line: error.line, reason: error.reason)]
      return
    }
    guard case .object(var members) = document.content else {
      all = [.syntax(file: file, line: document.line, reason: "the file must be one object: { … }")]
      return
    }
    // The key paths that may be missing because of an earlier mistake: the part with the key was removed, or the key
    // was misspelled.
    var explained: Set<String> = []
    var lacksDevices = false
    for _ in 0..<BoardMistakes.most {
      do throws(BoardError) {
        let board = try Board(BoardSection(file: file, path: "", line: document.line, members: members))
        if !lacksDevices { rest = board }
        return
      } catch {
        let follows = BoardMistakes.follows(error, from: explained, lacksDevices: lacksDevices)
        if !follows { all.append(error) }
        guard let path = BoardMistakes.remove(error, from: &members, &explained) else { return }
        if path.hasPrefix("devices"), path.count(where: { $0 == "." }) <= 1 { lacksDevices = true }
      }
    }
  }

  private static func follows(_ error: BoardError, from explained: Set<String>, lacksDevices: Bool) -> Bool {
    switch error {
    case .missingKey(_, _, let path): explained.contains(path)
    // These keys name devices, which may be missing because of an earlier mistake.
    case .wrongValue(_, _, let path, _): lacksDevices && (path == "fusion.devices" || path.hasSuffix(".power"))
    case .unreadable, .syntax, .unknownKey, .misplacedKey: false
    }
  }

  /// Removes the part that a mistake concerns. If the board's name is missing, adds one instead.
  ///
  /// - Returns: the path of the removed or added part; `nil` if nothing could be changed
  private static func remove(
    _ error: BoardError, from members: inout [JSONValue.Member], _ explained: inout Set<String>
  ) -> String? {
    switch error {
    case .unreadable, .syntax: return nil
    case .unknownKey(_, _, let path, let nearest):
      explained.insert(path)
      if let nearest { explained.insert(nearest) }
      return remove(path[...], from: &members) ? path : nil
    case .misplacedKey(_, _, let path, _):
      explained.insert(path)
      return remove(path[...], from: &members) ? path : nil
    case .wrongValue(_, _, let path, _):
      explained.insert(path)
      if remove(path[...], from: &members) { return path }
      return removeSection(of: path, from: &members)
    case .missingKey(_, let line, let path):
      guard path.contains(".") else {
        // `name` is at the top level, so no section around it can be removed. A name is added instead.
        guard path == "name", !members.contains(where: { $0.key == path }) else { return nil }
        let name = JSONValue(content: .string("board"), line: line)
        members.append(.init(key: path, value: name, keyRange: 0..<0, valueRange: 0..<0, end: 0))
        return path
      }
      return removeSection(of: path, from: &members)
    }
  }

  private static func removeSection(of path: String, from members: inout [JSONValue.Member]) -> String? {
    guard let dot = path.lastIndex(of: ".") else { return nil }
    // A mistaken list element removes its list, so that the other elements keep their numbers.
    let section = path[..<dot]
    let whole = section.last == "]" ? section.prefix { $0 != "[" } : section
    return remove(whole, from: &members) ? String(whole) : nil
  }

  private static func remove(_ path: Substring, from members: inout [JSONValue.Member]) -> Bool {
    for index in members.indices where path.hasPrefix(members[index].key) {
      let rest = path.dropFirst(members[index].key.count)
      if rest.isEmpty {
        members.remove(at: index)
        return true
      }
      if rest.first == "[" {
        if remove(element: rest.dropFirst(), from: &members[index].value) { return true }
        members.remove(at: index)
        return true
      }
      guard rest.first == ".", case .object(var inner) = members[index].value.content,
        remove(rest.dropFirst(), from: &inner)
      else { continue }
      members[index].value.content = .object(inner)
      return true
    }
    return false
  }

  /// - Parameter path: the path below the list, for example `0].port`
  private static func remove(element path: Substring, from value: inout JSONValue) -> Bool {
    guard case .array(var elements) = value.content, let number = Int(path.prefix { $0 != "]" }),
      elements.indices.contains(number), case .object(var inner) = elements[number].content
    else { return false }
    let rest = path.drop { $0 != "]" }.dropFirst()
    guard rest.first == ".", remove(rest.dropFirst(), from: &inner) else { return false }
    elements[number].content = .object(inner)
    value.content = .array(elements)
    return true
  }
}

/// A mistake in a board file, and its place.
public enum BoardError: Error, Equatable, Sendable {
  case unreadable(file: String, reason: String)
  /// The file is not JSON5.
  case syntax(file: String, line: Int, reason: String)
  case unknownKey(file: String, line: Int, keyPath: String, nearest: String?)
  /// The key belongs in other objects: `places` has their paths, the likeliest first. The path of the file's own object
  /// is empty.
  case misplacedKey(file: String, line: Int, keyPath: String, places: [String])
  case missingKey(file: String, line: Int, keyPath: String)
  /// The value has the wrong type, or is not allowed.
  case wrongValue(file: String, line: Int, keyPath: String, expected: String)
}

extension BoardError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let file, let reason): "cannot read '\(file)': \(reason)"
    case .syntax(let file, let line, let reason): "\(file):\(line): \(reason)"
    case .unknownKey(let file, let line, let keyPath, let nearest):
      "\(file):\(line): unknown key '\(keyPath)'\(nearest.map { "; did you mean '\($0)'?" } ?? "")"
    case .misplacedKey(let file, let line, let keyPath, let places):
      "\(file):\(line): unknown key '\(keyPath)'; it belongs \(BoardError.text(places))"
    case .missingKey(let file, let line, let keyPath): "\(file):\(line): '\(keyPath)' is missing"
    case .wrongValue(let file, let line, let keyPath, let expected): "\(file):\(line): '\(keyPath)' must be \(expected)"
    }
  }

  /// Up to three places, for example `in 'devices.NAME', in 'state' or at the top level`.
  private static func text(_ places: [String]) -> String {
    var texts = places.prefix(3).map { $0.isEmpty ? "at the top level" : "in '\($0)'" }
    if places.count > texts.count { texts.append("elsewhere") }
    guard texts.count > 1 else { return texts.joined() }
    let last = texts.removeLast()
    return "\(texts.joined(separator: ", ")) or \(last)"
  }
}
