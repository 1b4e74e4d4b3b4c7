/// The kinds of sentences that an output sends, by name: `RMC`, `GSV`, `PASHR`.
public struct SentenceChoice: Equatable, Sendable {
  /// The names; `nil` for all.
  public let names: [String]?

  public static let all = SentenceChoice(names: nil)

  public init(names: [String]?) { self.names = names }

  public func contains(_ name: String) -> Bool { names?.contains(name) ?? true }

  /// Whether a receiver's sentence is chosen: by the three letters after the talker's two, or by the first letters of a
  /// proprietary address.
  public func contains(sentence: some Collection<UInt8>) -> Bool {
    guard let names else { return true }
    let address = sentence.dropFirst().prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "*") }
    return names.contains { name in
      name.utf8.count > 3
        ? address.starts(with: name.utf8) : address.count == 5 && address.dropFirst(2).elementsEqual(name.utf8)
    }
  }
}

extension Board.NMEAFeed.Source {
  /// All kinds of sentences.
  public var sentences: [String] {
    switch self {
    case .receiver:
      [
        "DTM", "GBS", "GGA", "GLL", "GNS", "GRS", "GSA", "GST", "GSV", "HDG", "HDM", "HDT", "RMC", "ROT", "THS", "TXT",
        "VTG", "XDR", "ZDA", "PASHR", "PGRM", "PMTK", "PQTM", "PSRF", "PSTI", "PUBX",
      ]
    case .fused: ["RMC", "GGA", "VTG", "GST", "GSA", "GSV", "HDT", "HDG", "ROT", "XDR", "PASHR"]
    }
  }
}
