import Glibc
import HardwareIO
import Recording

/// Reads some columns of a table of numbers, which has a heading line. The columns may be in any order.
struct CSVReader {
  /// The maximum size of a file in bytes, enough for a recording of days. An endless source, such as a device, is
  /// refused.
  private static let limit = 1 << 31

  private let bytes: [UInt8]
  private let firstRow: Int
  private var position = 0
  /// For each column of the file, its index among the requested columns; `nil` if it was not requested.
  private var places: [Int?] = []
  private let requiredCount: Int
  /// The values of the last row, in the requested order. The value is NaN if an optional value is missing, empty or not
  /// a number.
  private(set) var row: [Double]
  /// The number of rows that were left out because a required value was missing or was not a number.
  private(set) var badCount = 0

  /// Reads the whole file. Throws if a required column is missing.
  ///
  /// - Parameters:
  ///   - required: the columns that must exist
  ///   - optional: the columns that may be missing
  init(path: String, required: [String], optional: [String] = []) throws(CommandError) {
    do throws(Files.Errno) {
      bytes = try Files.bytes(of: path, limit: CSVReader.limit)
    } catch {
      throw CommandError(.noInput, "cannot read '\(path)': \(error)", nextStep: "give a CSV file with a heading line")
    }
    let wanted = required + optional
    requiredCount = required.count
    row = Array(repeating: .nan, count: wanted.count)
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    let heading = String(decoding: bytes[..<end], as: UTF8.self)
    let names = heading.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { !$0.isWhitespace } }
    places = names.map { wanted.firstIndex(of: $0) }
    firstRow = min(end + 1, bytes.count)
    position = firstRow
    for name in required where !names.contains(name) {
      throw CommandError(
        .data, "'\(path)' has no column '\(name)'",
        nextStep: "its first line must name at least \(required.joined(separator: ","))")
    }
  }

  /// Returns to the first row.
  mutating func rewind() {
    position = firstRow
    badCount = 0
  }

  /// Reads the next valid row.
  ///
  /// - Returns: whether there was another row
  mutating func next() -> Bool {
    while position < bytes.count {
      for index in row.indices { row[index] = .nan }
      let (end, isGood) = bytes.withUnsafeBufferPointer { parseLine($0) }
      let isBlank = end == position || (end == position + 1 && bytes[position] == UInt8(ascii: "\r"))
      position = end + 1
      if isBlank { continue }
      if isGood, (0..<requiredCount).allSatisfy({ row[$0].isFinite }) { return true }
      badCount += 1
    }
    return false
  }

  /// Parses a line into `row`.
  ///
  /// - Returns: the end of the line, and `false` if a required value is present but is not a number
  private mutating func parseLine(_ buffer: UnsafeBufferPointer<UInt8>) -> (end: Int, isGood: Bool) {
    var index = position
    var column = 0
    var isGood = true
    while true {
      let start = index
      while index < buffer.count, buffer[index] != UInt8(ascii: ","), buffer[index] != UInt8(ascii: "\n") { index += 1 }
      if column < places.count, let place = places[column], index > start {
        if let value = DecimalNumber.read(UnsafeBufferPointer(rebasing: buffer[start..<index])) {
          row[place] = value
        } else if place < requiredCount {
          isGood = false
        }
      }
      column += 1
      guard index < buffer.count, buffer[index] == UInt8(ascii: ",") else { return (index, isGood) }
      index += 1
    }
  }
}
