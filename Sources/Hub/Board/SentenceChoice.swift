/// The types of sentences that an output sends, by name: `RMC`, `GSV`, `PASHR`.
public struct SentenceChoice: Equatable, Sendable {
  /// The names of the sentence types; `nil` for all types.
  public let names: [String]?

  public static let all = SentenceChoice(names: nil)

  public init(names: [String]?) { self.names = names }

  public func contains(_ name: String) -> Bool { names?.contains(name) ?? true }

  /// Whether the output sends a receiver's sentence. A name of three letters is compared with the letters after the
  /// talker, and a longer name with the beginning of a proprietary address.
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
  /// The sentence types that the board file may name for this source.
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
