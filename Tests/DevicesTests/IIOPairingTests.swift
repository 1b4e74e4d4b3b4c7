import Testing

@testable import Devices

/// At 100 Hz the accelerometer's samples are 10 ms apart, and a sample within 5 ms counts as near.
struct IIOPairingTests {
  private static let millisecond: Int64 = 1_000_000

  /// The pairs of a gyroscope's and an accelerometer's samples at these milliseconds; the accelerometer's x is its
  /// time, in milliseconds. `nil` for a dropped sample.
  private func pairs(_ gyroscope: [Int64], _ accelerometer: [Int64]) -> [Float?] {
    var pairing = IIOPairing(rateHz: 100)
    add(gyroscope, accelerometer, &pairing)
    return take(&pairing)
  }

  private func add(_ gyroscope: [Int64], _ accelerometer: [Int64], _ pairing: inout IIOPairing) {
    for at in gyroscope {
      pairing.add(gyroscope: .init(at: at * IIOPairingTests.millisecond, vector: SIMD3(repeating: -Float(at))))
    }
    for at in accelerometer {
      pairing.add(accelerometer: .init(at: at * IIOPairingTests.millisecond, vector: SIMD3(Float(at), 1, -Float(at))))
    }
  }

  private func take(_ pairing: inout IIOPairing) -> [Float?] {
    var found: [Float?] = []
    while let outcome = pairing.next() {
      switch outcome {
      case .pair(let gyroscope, let accelerometer):
        // The gyroscope's sample keeps its value and its time, and all axes are interpolated in the same way.
        #expect(gyroscope.vector == SIMD3(repeating: -Float(gyroscope.at / IIOPairingTests.millisecond)))
        #expect(accelerometer.y == 1 && accelerometer.z == -accelerometer.x)
        found.append(accelerometer.x)
      case .alone: found.append(nil)
      }
    }
    return found
  }

  @Test func `measurements of the same time are paired`() {
    #expect(pairs([0, 10, 20], [0, 10, 20]) == [0, 10, 20])
  }

  @Test func `between two accelerometer samples, the value is interpolated`() {
    #expect(pairs([4, 12, 27], [0, 10, 20, 30]) == [4, 12, 27])
  }

  @Test func `near the newest accelerometer sample its value is used; after it, the next sample is awaited`() {
    #expect(pairs([14], [0, 10]) == [10])
    #expect(pairs([16], [0, 10]) == [])
    var pairing = IIOPairing(rateHz: 100)
    add([16, 24], [10], &pairing)
    #expect(take(&pairing) == [])
    add([], [20], &pairing)
    #expect(take(&pairing) == [16, 20])
  }

  @Test func `before the first accelerometer sample, only near gyroscope samples are paired`() {
    #expect(pairs([2, 6, 10], [10]) == [nil, 10, 10])
    #expect(pairs([2], []) == [])
  }

  @Test func `across a gap, only samples near its ends are paired`() {
    #expect(pairs([14, 16, 30, 44, 46], [0, 10, 50]) == [10, nil, nil, nil, 50])
    // One missing sample does not count as a gap.
    #expect(pairs([16], [10, 34]) == [16])
    #expect(pairs([16], [10, 36]) == [nil])
  }

  @Test func `samples at other rates are paired as well`() {
    #expect(pairs([0, 5, 10, 15, 20], [0, 10, 20]) == [0, 5, 10, 15, 20])
    #expect(pairs([0, 20], [0, 10, 20, 30]) == [0, 20])
  }

  @Test func `a gap of the gyroscope belongs to the sample after it`() throws {
    var pairing = IIOPairing(rateHz: 100)
    pairing.add(gyroscope: .init(at: 5, vector: .zero))
    pairing.add(gyroscope: .init(at: 6, vector: .zero, followsGap: true))
    pairing.add(accelerometer: .init(at: 5, vector: .zero))
    var gaps: [Bool] = []
    while case .pair(let gyroscope, _)? = pairing.next() { gaps.append(gyroscope.followsGap) }
    #expect(gaps == [false, true])
  }

  @Test func `if there is no room, the oldest samples are dropped`() {
    var pairing = IIOPairing(rateHz: 100)
    #expect(pairing.room == 256)
    add((0..<300).map { 10 * Int64($0) }, [], &pairing)
    #expect(pairing.room == 0)
    add([], (0..<300).map { 10 * Int64($0) }, &pairing)
    let found = take(&pairing).compactMap { $0 }
    #expect(found.count == 256)
    #expect(found.first == 440 && found.last == 2990)
    #expect(pairing.room == 256)
  }
}
