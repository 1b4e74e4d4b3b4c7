@testable import Outputs

/// The messages between a hub and the process of its broker's connection. The first byte names the sender.
enum BrokerTarget {
  /// The limit of a record in this test. It is less than the size of an input.
  private static let byteLimit = 512

  private struct Read: Equatable {
    var reports: [BrokerReport] = []
    var orders: [BrokerOrder] = []
    var hasEnded = false
    /// All records that were read, encoded again.
    var bytes: [UInt8] = []
  }

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    guard let first = input.first else { return }
    let ofHub = first & 1 == 1
    let said = Array(input.dropFirst())
    let whole = read(said, by: max(1, said.count), ofHub: ofHub)
    // The result is the same however the input is cut.
    for size in [1, 7] {
      let cut = read(said, by: size, ofHub: ofHub)
      require(cut == whole, "in pieces of \(size) it is \(cut), and as a whole \(whole)")
    }
    // Each message has exactly one encoding.
    require(said.starts(with: whole.bytes), "\(whole) is not what was read")
  }

  private static func read(_ input: [UInt8], by size: Int, ofHub: Bool) -> Read {
    var (records, read) = (BrokerRecords(byteLimit: byteLimit), Read())
    do throws(MalformedBrokerRecord) {
      for start in stride(from: 0, to: input.count, by: size) {
        try records.take(input[start..<min(start + size, input.count)]) { record throws(MalformedBrokerRecord) in
          require(record.count <= byteLimit, "a record of \(record.count) bytes")
          if ofHub {
            let order = try BrokerOrder(record)
            read.orders.append(order)
            read.bytes += order.bytes
          } else {
            let report = try BrokerReport(record)
            read.reports.append(report)
            read.bytes += report.bytes
          }
        }
      }
    } catch {
      read.hasEnded = true
    }
    return read
  }
}
