import MCAP

/// A foreign file that is read as a recording, both as it is and after a repair.
enum RecordingTarget {
  /// An upper bound of the steps for any input. A file is read to its end, whatever its contents.
  private static let mostSteps = 100_000
  private static let memoryLimit = 1 << 20

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    let file = MCAPBytes(Array(input))
    read(file)
    for isRecycled in [false, true] { requireRepair(of: file, isRecycled) }
  }

  /// Reads the whole file. Returns the number of messages, or `nil` if the file cannot be read to its end.
  @discardableResult
  private static func read(_ file: some MCAPSource) -> Int? {
    guard let reader = try? MCAPReader(file, memoryLimitByteCount: memoryLimit) else { return nil }
    for index in reader.summary.metadata { _ = try? reader.metadata(index) }
    for index in reader.summary.attachments { _ = try? reader.attachment(index) }
    try? reader.check()
    let counts = [MCAPOrder.file, .logTime].map { order in count(reader.messages(order: order)) }
    let isWhole = reader.damage == nil && counts[0] != nil && counts[1] != nil
    require(!isWhole || counts[0] == counts[1], "\(counts) messages in the two orders")
    return isWhole ? counts[0] : nil
  }

  /// Counts messages; returns `nil` if a chunk cannot be read.
  private static func count(_ messages: consuming MCAPMessages<some MCAPSource>) -> Int? {
    var count = 0
    var isWhole = true
    for _ in 0..<mostSteps {
      do throws(MCAPError) {
        guard try messages.next() != nil else { return isWhole ? count : nil }
        count += 1
      } catch {
        // Reading continues after that.
        isWhole = false
      }
    }
    fatalError("messages without end")
  }

  /// Checks that a repaired file needs no further repair.
  private static func requireRepair(of file: MCAPBytes, _ isRecycled: Bool) {
    guard let repair = try? MCAPRepair(of: file, isRecycled: isRecycled, memoryLimitByteCount: memoryLimit) else {
      return
    }
    require(repair.keptByteCount <= file.byteCount, "a repair that keeps more than there is")
    read(RepairedSource(file, repair))
  }
}
