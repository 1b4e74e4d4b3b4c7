import Testing

@testable import Outputs

/// Records between a hub and its broker's process are read back as they were written, and invalid bytes are rejected.
struct BrokerRecordsTests {
  private static let reports: [BrokerReport] = [
    .answered(.init(code: 0, words: "Success"), byteLimit: 8192),
    .subscribed(.init(code: 1, words: "Granted QoS 1")),
    .received(topic: "sensorhub/boat/é", payload: [0, 0xff], isRetained: true, expirySeconds: 60),
    .received(topic: "", payload: [], isRetained: false, expirySeconds: nil),
    .leftOut(byteCount: .max),
    .acknowledged(number: 7, .init(code: 0x10, words: "No matching subscribers")),
    .unsent(number: 8, isTooLong: true, words: "Packet too large"),
    .closed(.init(code: 0x8e, words: "Session taken over")),
    .ended(words: "Connection refused"),
  ]

  private static var orders: [BrokerOrder] {
    var access = BrokerAccess(host: "::1", port: 8883, identifier: "sensorhub-boat")
    access.isEncrypted = true
    access.password = ""
    access.will = MQTTOptions.Will(topic: "status", text: "offline")
    access.subscriptions = ["a/+", "b"]
    var message = Outbox.Message(topic: "a", payload: [1, 2, 3])
    message.isRetained = true
    message.expirySeconds = 5
    return [.connect(access), .publish(number: 1, message), .leave]
  }

  /// Reads the bytes in pieces of a given size.
  private func records(_ bytes: [UInt8], by size: Int, byteLimit: Int = 1000) throws -> [[UInt8]] {
    var (records, read) = (BrokerRecords(byteLimit: byteLimit), [[UInt8]]())
    for start in stride(from: 0, to: bytes.count, by: size) {
      try records.take(bytes[start..<min(start + size, bytes.count)]) { read.append(Array($0)) }
    }
    return read
  }

  @Test(arguments: [1, 3, 4, 5, 1000]) func `records are read as they were written, however their bytes are split`(
    size: Int
  )
    throws
  {
    let reports = try records(BrokerRecordsTests.reports.flatMap(\.bytes), by: size)
    #expect(try reports.map { try BrokerReport($0[...]) } == BrokerRecordsTests.reports)
    let orders = try records(BrokerRecordsTests.orders.flatMap(\.bytes), by: size)
    #expect(try orders.map { try BrokerOrder($0[...]) } == BrokerRecordsTests.orders)
  }

  @Test func `a length beyond the limit is refused before its bytes arrive`() {
    for head: [UInt8] in [[0xff, 0xff, 0xff, 0xff], [101, 0, 0, 0], [0, 0, 0, 0]] {
      #expect(throws: MalformedBrokerRecord.self) { try records(head, by: 1, byteLimit: 100) }
    }
    #expect(throws: Never.self) { try records([100, 0, 0, 0, 3], by: 1, byteLimit: 100) }
  }

  @Test func `a report that is cut off, has extra bytes or an invalid text is refused`() throws {
    for report in BrokerRecordsTests.reports {
      let body = report.bytes.dropFirst(4)
      for count in 0..<body.count {
        #expect(throws: MalformedBrokerRecord.self) { try BrokerReport(body.prefix(count)) }
      }
      #expect(throws: MalformedBrokerRecord.self) { try BrokerReport(body + [0]) }
    }
    // The records have a text that is not UTF-8, a length beyond the end, and an unknown kind.
    for body: [UInt8] in [[8, 2, 0, 0, 0, 0xc0, 0x80], [8, 0xff, 0xff, 0xff, 0xff, 0x61], [99], [4, 1, 0, 0]] {
      #expect(throws: MalformedBrokerRecord.self) { try BrokerReport(body[...]) }
    }
  }
}
