import MonotonicTime

/// A request for fixes in the board file. The hub serves it without a client.
public struct StandingRequest: Equatable, Sendable {
  /// The maximum number of requests in a board file.
  static let most = 32

  /// The user's name for the request, for lists of holders, the energy per client, and messages.
  public var name: String
  /// The request for fixes, or for a bounded error.
  public var request: ViewRequest

  public init(name: String, request: ViewRequest) {
    self.name = name
    self.request = request
  }
}

extension StandingRequest {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    let name = try section.required("name")
    guard DeviceDescription.isID(name) else {
      throw section.wrong("name", expected: DeviceDescription.idForm)
    }
    var values = ViewRequest.Values()
    for key in ViewRequest.Key.allCases where key != .parts {
      values.numbers[key] = try section.number(key.rawValue, in: key.range)
    }
    if let key = [ViewRequest.Key.rateHz, .parts].first(where: { section.has($0.rawValue) }) {
      throw section.wrong(
        key.rawValue, expected: "left out: a standing request is for fixes, with 'every' or 'error'")
    }
    guard values.numbers[.every] != nil || values.numbers[.error] != nil else { throw section.missing("every") }
    do throws(ViewRequest.Mistake) {
      request = try ViewRequest(values)
    } catch {
      throw section.wrong(error)
    }
    self.name = name
    try section.finish()
  }

  /// Reads all requests of a board file.
  static func all(_ root: inout BoardSection) throws(BoardError) -> [StandingRequest] {
    var requests: [StandingRequest] = []
    for section in try root.sections("requests") {
      let request = try StandingRequest(section)
      guard !requests.contains(where: { $0.name == request.name }) else {
        throw section.wrong("name", expected: "another name than the previous request")
      }
      requests.append(request)
    }
    guard requests.count <= most else { throw root.wrong("requests", expected: "a list of at most \(most)") }
    return requests
  }
}

extension BoardSection {
  /// An error about a request, at its key.
  fileprivate func wrong(_ mistake: ViewRequest.Mistake) -> BoardError {
    switch mistake {
    case .excludes(let key, let other): wrong(other.rawValue, expected: "left out with '\(key.rawValue)'")
    case .needs(let key, _): wrong(key.rawValue, expected: "left out: it \(mistake.reason)")
    case .outOfRange, .parts, .distanceWithoutPosition: wrong(mistake.key.rawValue, expected: mistake.reason)
    }
  }
}

extension StandingRequest: CustomStringConvertible {
  /// A description such as `log: a fix every 600 s, to 10 m`.
  public var description: String {
    var text = request.every.map { "a fix every \($0.inSeconds.short) s" } ?? ""
    if let error = request.errorMetres { text = "fixes that keep the position within \(error.short) m" }
    if let accuracy = request.accuracyMetres { text += ", to \(accuracy.short) m" }
    if let age = request.maxAge { text += ", or one that is at most \(age.inSeconds.short) s old" }
    if let distance = request.distanceMetres { text += ", if it has moved \(distance.short) m" }
    if let batch = request.batch { text += ", delivered every \(batch.inSeconds.short) s" }
    return "\(name): \(text)"
  }
}
