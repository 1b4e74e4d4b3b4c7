import Hub

/// A caster's mount points, parsed from its source table as the bytes arrive (NTRIP 1, section 4).
struct SourceTable {
  /// The maximum number of names. The largest known caster has five thousand.
  private static let mostNames = 20_000
  private static let longestLine = 1024

  private(set) var mountPoints: [String] = []
  private(set) var isWhole = false
  private var line: [UInt8] = []

  /// The number of bytes at the beginning of a body that show whether it is a table.
  static let openingCount = 16

  /// Whether a body that begins like this is a table, even if its head says otherwise.
  static func begins(_ bytes: [UInt8]) -> Bool {
    let text = bytes.drop { $0 <= 0x20 }
    return ["SOURCETABLE ", "ENDSOURCETABLE", "STR;", "CAS;", "NET;"].contains { text.starts(with: $0.utf8) }
  }

  mutating func take(_ bytes: ArraySlice<UInt8>) {
    for byte in bytes where !isWhole {
      if byte != UInt8(ascii: "\n") {
        if line.count < SourceTable.longestLine { line.append(byte) }
        continue
      }
      takeLine()
      line.removeAll(keepingCapacity: true)
    }
  }

  private mutating func takeLine() {
    if line.starts(with: "ENDSOURCETABLE".utf8) { isWhole = true }
    let fields = line.split(separator: UInt8(ascii: ";"), maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count > 1, fields[0].elementsEqual("STR".utf8), mountPoints.count < SourceTable.mostNames else {
      return
    }
    mountPoints.append(Text.printable(String(decoding: fields[1].prefix(100), as: UTF8.self)))
  }

  /// The error for a mount point that is not in this table, with similar names.
  func lack(of mountPoint: String) -> CasterError {
    .noSuchMountPoint(
      nearest: NearestWord.guesses(mountPoint, among: mountPoints, atMost: 3), count: mountPoints.count)
  }
}
