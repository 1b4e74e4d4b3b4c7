/// The number of messages of each channel in a chunk, and their time span. Counting allocates only for a channel
/// number higher than all before.
struct MessageCounts {
  /// The number of messages, by channel number.
  private var counts: [UInt64] = []
  /// The channels with messages, in the order of their first message.
  private(set) var channels: [UInt16] = []
  private(set) var total: UInt64 = 0
  /// The earliest and latest log time in nanoseconds; 0 if there are no messages.
  private(set) var earliest: UInt64 = 0
  private(set) var latest: UInt64 = 0

  subscript(channelID: UInt16) -> UInt64 { Int(channelID) < counts.count ? counts[Int(channelID)] : 0 }

  mutating func add(_ channelID: UInt16, logTimeNanoseconds: UInt64) {
    let index = Int(channelID)
    if index >= counts.count { counts.append(contentsOf: repeatElement(0, count: index + 1 - counts.count)) }
    if counts[index] == 0 { channels.append(channelID) }
    counts[index] += 1
    earliest = total == 0 ? logTimeNanoseconds : min(earliest, logTimeNanoseconds)
    latest = max(latest, logTimeNanoseconds)
    total += 1
  }

  mutating func removeAll() {
    for channelID in channels { counts[Int(channelID)] = 0 }
    channels.removeAll(keepingCapacity: true)
    total = 0
    earliest = 0
    latest = 0
  }
}
