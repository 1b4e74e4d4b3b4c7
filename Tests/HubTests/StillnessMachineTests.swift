import Devices
import MonotonicTime
import Testing

@testable import Hub

struct StillnessMachineTests {
  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((seconds * 1e9).rounded()))
  }

  /// Takes ten samples a second of a level board.
  ///
  /// - Parameter push: the sideways acceleration in m/s²
  /// - Returns: the states that have changed
  private static func samples(
    _ machine: inout StillnessMachine, _ seconds: Range<Double>, push: Float = 0
  ) -> [MotionState] {
    stride(from: seconds.lowerBound, to: seconds.upperBound, by: 0.1).compactMap { second in
      var batch = IMUBatch()
      batch.append(IMUSample(at: at(second), gyroscope: .zero, accelerometer: SIMD3(push, 0, 9.81)))
      return machine.take(batch)
    }
  }

  /// A board that has been still since the first second, by a sensor that waits for motion.
  private static func still() -> StillnessMachine {
    var machine = StillnessMachine()
    #expect(machine.take(.still(since: at(1)), at: at(1)) == .still(since: at(1)))
    return machine
  }

  @Test(arguments: [0.5, 10])
  func `a board stays still while a client reads the sensor, and afterwards`(_ seconds: Double) {
    var machine = Self.still()
    for visit in [60.0, 120, 180] {
      #expect(machine.changesOver(at: Self.at(visit)) == nil && machine.deadline == Self.at(visit + 2))
      #expect(Self.samples(&machine, visit + 0.3..<visit + seconds) == [] && machine.deadline == nil)
      let end = visit + seconds
      #expect(machine.changesOver(at: Self.at(end)) == nil && machine.deadline != nil)
      #expect(machine.take(.still(since: Self.at(end + 0.3)), at: Self.at(end + 0.3)) == nil && machine.deadline == nil)
    }
    #expect(machine.take(.moved(at: Self.at(200)), at: Self.at(200)) == .moved(at: Self.at(200)))
  }

  @Test func `a motion in the samples ends stillness at once`() {
    var machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    #expect(Self.samples(&machine, 60.3..<61) == [])
    #expect(Self.samples(&machine, 61..<61.5, push: 1) == [.moved(at: Self.at(61))])
    #expect(machine.changesOver(at: Self.at(61.5)) == .unknown && machine.deadline == nil)
    #expect(machine.take(.still(since: Self.at(62)), at: Self.at(62)) == .still(since: Self.at(62)))
  }

  @Test func `without samples and without a sensor that waits, stillness ends after two seconds`() {
    var machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    #expect(machine.look(at: Self.at(61.9)) == nil)
    #expect(machine.look(at: Self.at(62)) == .unknown)
    #expect(machine.look(at: Self.at(70)) == nil && machine.deadline == nil)
  }

  @Test func `a change that takes too long ends stillness, also if the timer is late`() {
    var machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    #expect(Self.samples(&machine, 63..<64) == [.unknown])
    machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    // The reader gives the sensor back without a sample.
    #expect(machine.changesOver(at: Self.at(61.5)) == nil && machine.deadline == Self.at(62))
    #expect(machine.take(.still(since: Self.at(63)), at: Self.at(63)) == .still(since: Self.at(63)))
  }

  @Test func `the time since the last sample counts, and not the time since the reader has ended`() {
    var machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    #expect(Self.samples(&machine, 60.3..<60.4) == [])
    #expect(machine.changesOver(at: Self.at(62)) == nil && machine.deadline == Self.at(62.3))
  }

  @Test func `a gap between samples ends stillness`() {
    var machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    #expect(Self.samples(&machine, 60.3..<61) == [])
    #expect(Self.samples(&machine, 62.5..<66) == [.unknown, .still(since: Self.at(62.5))])
  }

  @Test func `a thread that fails or hangs ends stillness, whichever mode the sensor is in`() {
    var machine = Self.still()
    #expect(machine.end() == .unknown && machine.end() == nil)
    machine = Self.still()
    #expect(machine.changesOver(at: Self.at(60)) == nil)
    #expect(Self.samples(&machine, 60.3..<70) == [])
    #expect(machine.end() == .unknown)
    // A reader that continues must show stillness again.
    #expect(Self.samples(&machine, 75..<79) == [.still(since: Self.at(75))])
  }

  @Test func `a board that moved is not known to be still after a change`() {
    var machine = Self.still()
    #expect(machine.take(.moved(at: Self.at(50)), at: Self.at(50)) == .moved(at: Self.at(50)))
    #expect(machine.changesOver(at: Self.at(60)) == .unknown)
    #expect(Self.samples(&machine, 60.5..<64) == [.still(since: Self.at(60.5))])
  }
}
