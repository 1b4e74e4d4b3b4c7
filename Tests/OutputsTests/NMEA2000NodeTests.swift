import HardwareIO
import MonotonicTime
import Testing

@testable import Outputs

/// Claims of addresses by the rules of ISO 11783-5, without a bus and without waiting.
struct NMEA2000NodeTests {
  private static let start = MonotonicInstant(nanoseconds: 1_000_000_000)
  private static let end = start + NMEA2000Node.claimTime
  private let weaker = NMEA2000Name(unique: 9)
  private let stronger = NMEA2000Name(unique: 1)

  private func node(_ address: UInt8 = 60) -> NMEA2000Node {
    let name = NMEA2000Name(unique: 5)
    return NMEA2000Node(
      name, claiming: address, product: NMEA2000Node.product(version: "1", name), at: Self.start)
  }

  private func claimed(_ address: UInt8 = 60) -> NMEA2000Node {
    var node = node(address)
    _ = node.elapse(to: Self.end)
    return node
  }

  /// The claim of another device.
  private func claim(_ address: UInt8, _ name: NMEA2000Name) -> CANFrame {
    var fields = NMEA2000Fields()
    fields.add(name.value, bytes: 8)
    return NMEA2000Message(.addressClaim, fields).frames(from: address, sequence: 0)[0]
  }

  private func request(_ number: UInt32, to destination: UInt8, from source: UInt8 = 3) -> CANFrame {
    CANFrame(
      identifier: 0x18EA_0000 | UInt32(destination) << 8 | UInt32(source),
      bytes: [UInt8(number & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number >> 16)])
  }

  @Test func `a name has the fields of canboat's database`() {
    let value = NMEA2000Name(unique: 0x12_3456).value
    #expect(value & 0x1F_FFFF == 0x12_3456)
    #expect(value >> 21 & 0x7FF == 2046, "the manufacturer")
    #expect(value >> 40 & 0xFF == 145, "the function")
    #expect(value >> 49 & 0x7F == 60, "the class")
    #expect(value >> 60 == 0xC, "marine, and able to claim any address")
  }

  @Test func `an address is claimed, held after 250 ms, and confirmed by a heartbeat a minute`() {
    var node = node()
    #expect(node.claim.frames(from: node.address, sequence: 0).map(\.identifier) == [0x18EE_FF3C])
    #expect(!node.isClaimed && node.deadline == Self.end)
    #expect(node.elapse(to: Self.start).isEmpty)
    #expect(node.elapse(to: Self.end).map(\.group) == [.heartbeat])
    #expect(node.isClaimed && node.address == 60)
    let next = Self.end + .seconds(60)
    #expect(node.deadline == next)
    let second = node.elapse(to: next)
    #expect(second.map(\.bytes) == [[0x60, 0xEA, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]])
    #expect(second[0].frames(from: 60, sequence: 0).map(\.identifier) == [0x1DF0_113C])
  }

  @Test func `a device with a higher name is told who has the address`() {
    var node = claimed()
    #expect(node.receive(claim(60, weaker), at: Self.end) == [node.claim])
    #expect(node.isClaimed && node.address == 60)
    #expect(node.receive(claim(61, weaker), at: Self.end).isEmpty)
  }

  @Test(arguments: [1, 5] as [UInt32]) func `the loser claims the next address that no device has`(_ unique: UInt32) {
    var node = claimed()
    _ = node.receive(claim(61, weaker), at: Self.end)
    _ = node.receive(claim(62, weaker), at: Self.end)
    let later = Self.end + .seconds(5)
    // Two devices of one name must not share an address either.
    #expect(node.receive(claim(60, NMEA2000Name(unique: unique)), at: later) == [node.claim])
    #expect(node.address == 63 && !node.isClaimed && node.deadline == later + NMEA2000Node.claimTime)
    #expect(node.elapse(to: later + NMEA2000Node.claimTime).map(\.group) == [.heartbeat])
    #expect(node.isClaimed)
  }

  @Test func `the search continues at the lowest address after the highest one`() {
    var node = claimed(251)
    _ = node.receive(claim(251, stronger), at: Self.end)
    #expect(node.address == 0)
  }

  /// A node on a bus whose addresses are all taken.
  private func defeated() -> NMEA2000Node {
    var node = claimed()
    for address in 0...NMEA2000Message.lastAddress where address != 60 {
      #expect(node.receive(claim(address, weaker), at: Self.end).isEmpty)
    }
    #expect(node.receive(claim(60, stronger), at: Self.end).isEmpty)
    return node
  }

  @Test func `a device that finds no free address says so after a random delay, and stays silent`() {
    var node = defeated()
    #expect(node.isDefeated && node.address == NMEA2000Message.noAddress)
    let deadline = node.deadline ?? Self.start
    #expect(deadline >= Self.end && deadline <= Self.end + .milliseconds(153))
    let report = node.elapse(to: deadline)
    #expect(report.flatMap { $0.frames(from: node.address, sequence: 0) }.map(\.identifier) == [0x18EE_FFFE])
    #expect(node.deadline == nil)
    #expect(node.receive(request(126_996, to: 255), at: deadline).isEmpty)
    // The request for claims is answered even then.
    #expect(node.receive(request(60928, to: 255), at: deadline) == [node.claim])
  }

  @Test(arguments: [60, 59] as [UInt8])
  func `a device without an address asks all others for theirs after a minute, and claims a free one`(_ free: UInt8) {
    var node = defeated()
    let minute = Self.end + NMEA2000Node.searchInterval
    #expect(node.askForAddresses(at: minute) == nil, "the report comes first")
    _ = node.elapse(to: Self.end + .milliseconds(153))
    #expect(node.askForAddresses(at: minute.advanced(by: .milliseconds(-1))) == nil)
    let request = node.askForAddresses(at: minute)
    let frames = request.map { $0.frames(from: node.address, sequence: 0) } ?? []
    #expect(frames == [CANFrame(identifier: 0x18EA_FFFE, bytes: [0x00, 0xEE, 0x00])])
    #expect(node.askForAddresses(at: minute) == nil && !node.isDefeated)
    // The first time no device has left the bus.
    for address in 0...NMEA2000Message.lastAddress { _ = node.receive(claim(address, stronger), at: minute) }
    let answered = minute + NMEA2000Node.answerTime
    #expect(node.deadline == answered && node.elapse(to: answered).isEmpty)
    #expect(node.isDefeated && node.deadline == nil)
    let later = answered + NMEA2000Node.searchInterval
    #expect(node.askForAddresses(at: later) != nil)
    for address in 0...NMEA2000Message.lastAddress where address != free {
      #expect(node.receive(claim(address, stronger), at: later).isEmpty)
    }
    let end = later + NMEA2000Node.answerTime
    #expect(node.elapse(to: end) == [node.claim] && node.address == free && !node.isClaimed)
    _ = node.elapse(to: end + NMEA2000Node.claimTime)
    #expect(node.isClaimed)
  }

  @Test func `requests are answered, and an addressed request for anything else is refused`() {
    var node = claimed()
    #expect(node.receive(request(60928, to: 255, from: 254), at: Self.end) == [node.claim])
    #expect(node.receive(request(126_996, to: 60), at: Self.end) == [node.product])
    let lists = node.receive(request(126_464, to: 60), at: Self.end)
    #expect(lists.map { $0.bytes[0] } == [0, 1] && lists.allSatisfy { $0.destination == 3 })
    #expect(lists[1].bytes == [1, 0x00, 0xEA, 0x00, 0x00, 0xEE, 0x00])
    // A list is a fast packet, even if it would fit into one frame.
    #expect(
      lists[1].frames(from: 60, sequence: 2).map(\.bytes) == [
        [0x40, 7, 1, 0x00, 0xEA, 0x00, 0x00, 0xEE], [0x41, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      ])
    // The group 65240, a commanded address, is 0x00FED8.
    let refusal = node.receive(request(65240, to: 60), at: Self.end)
    #expect(refusal.map(\.bytes) == [[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xD8, 0xFE, 0x00]])
    #expect(refusal.flatMap { $0.frames(from: 60, sequence: 0) }.map(\.identifier) == [0x18E8_033C])
    #expect(node.receive(request(65240, to: 255), at: Self.end).isEmpty)
    #expect(node.receive(request(126_996, to: 61), at: Self.end).isEmpty, "a request to another device")
    #expect(node.receive(CANFrame(identifier: 0x18EA_FF03, bytes: [0]), at: Self.end).isEmpty)
    #expect(node.receive(CANFrame(identifier: 0x18EE_FF3C, bytes: []), at: Self.end).isEmpty)
  }

  @Test func `the kernel's filter passes claims and requests only`() {
    func passes(_ identifier: UInt32) -> Bool {
      NMEA2000Node.identifiers.contains { $0 == identifier & NMEA2000Node.identifierMask }
    }
    #expect(passes(0x18EE_FF3C) && passes(0x18EA_FF03) && passes(0x18EA_3C03))
    #expect(!passes(0x09F8_012B) && !passes(0x19EE_FF03) && !passes(0x18E8_033C))
  }
}
