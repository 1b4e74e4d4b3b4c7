/// Puts recorded rows in the order of their times, and notices where their clock starts again.
///
/// Rows of one recorder arrive a little out of order, so some of them wait to be sorted. Where two rows in a
/// row lie well before the newest one, the clock has started again, and a new section begins.
struct TimeOrder {
  private struct Entry {
    var time: Double
    var section: Int
    var row: [Double]
  }

  /// This many rows wait.
  private static let depth = 16
  /// A row this much earlier than the newest is of another section, or wrong; seconds.
  private static let longestDisorder = 1.5

  /// Sorted, oldest first.
  private var waiting: [Entry] = []
  /// Far before the newest row: the first of a new section, if another one follows it.
  private var stray: (time: Double, row: [Double])?
  private var newest = -Double.infinity
  private var section = 0
  /// Of the last row that was handed out.
  private var last = -Double.infinity
  private var lastSection = 0
  private var hasEnded = false
  /// Rows that were left out: of a time that was handed out already, or of none that fits.
  private(set) var droppedCount = 0

  /// The next row in order, with the number of its section.
  ///
  /// - Parameter table: its first column is the time, in seconds
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
