/// Sorts recorded rows by time, and detects restarts of their clock.
///
/// Rows of one recorder arrive slightly out of order, so some rows wait here to be sorted. If two consecutive rows are
/// well before the newest one, the clock has restarted, and a new section begins.
struct TimeOrder {
  private struct Entry {
    var time: Double
    var section: Int
    var row: [Double]
  }

  /// The number of rows that wait to be sorted.
  private static let depth = 16
  /// A row that is more than this number of seconds before the newest one belongs to another section, or is wrong.
  private static let longestDisorder = 1.5

  /// The waiting rows, the oldest first.
  private var waiting: [Entry] = []
  /// A row far before the newest one. If another such row follows, the two begin a new section.
  private var stray: (time: Double, row: [Double])?
  private var newest = -Double.infinity
  private var section = 0
  /// The time of the last returned row.
  private var last = -Double.infinity
  private var lastSection = 0
  private var hasEnded = false
  /// The number of rows that were left out: `next` has already returned a row that is not earlier, or the row fits into
  /// no section.
  private(set) var droppedCount = 0

  /// The next row in the order of time, and the number of its section.
  ///
  /// - Parameter table: the table, whose first column is the time in seconds
  mutating func next(of table: inout some MeasurementTable) -> (section: Int, row: [Double])? {
    while true {
      while !hasEnded, waiting.count < TimeOrder.depth {
        if table.next() {
          take(table.row[0], table.row)
        } else {
          hasEnded = true
          if stray != nil { droppedCount += 1 }
        }
      }
      guard !waiting.isEmpty else { return nil }
      let entry = waiting.removeFirst()
      if entry.section == lastSection, entry.time <= last {
        droppedCount += 1
        continue
      }
      last = entry.time
      lastSection = entry.section
      return (entry.section, entry.row)
    }
  }

  private mutating func take(_ time: Double, _ row: [Double]) {
    guard time < newest - TimeOrder.longestDisorder else {
      if stray != nil { droppedCount += 1 }
      stray = nil
      newest = max(newest, time)
      return insert(time, row)
    }
    guard let first = stray else {
      stray = (time, row)
      return
    }
    stray = nil
    section += 1
    newest = max(first.time, time)
    insert(first.time, first.row)
    insert(time, row)
  }

  private mutating func insert(_ time: Double, _ row: [Double]) {
    var place = waiting.count
    while place > 0, waiting[place - 1].section == section, waiting[place - 1].time > time { place -= 1 }
    waiting.insert(Entry(time: time, section: section, row: row), at: place)
  }
}
