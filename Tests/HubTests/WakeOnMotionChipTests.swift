import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

@testable import Hub

/// A chip that waits for motion, on a board that starts to move at each step at which the edge of the chip's line could
/// get lost.
@Suite(.timeLimit(.minutes(10)))
struct WakeOnMotionChipTests {
  /// A transfer to or from the chip.
  enum Step: Equatable, Sendable {
    case write(UInt8)
    case read(UInt8)

    init?(_ operations: UnsafeBufferPointer<I2COperation>) {
      guard case .write(let bytes)? = operations.first, let register = bytes.first else { return nil }
      self = bytes.count == 1 ? .read(register) : .write(register)
    }
  }

  /// The simulated bus and line. After a chosen step, the clock advances once.
  private final class Wire: Hardware {
    let clock: ManualClock
    let simulated: SimulatedHardware
    let pause = Guarded<(step: Step, end: MonotonicInstant)?>(nil)
    /// Whether the edges of the line are not reported.
    let isDeaf: Bool

    init(_ clock: ManualClock, _ simulated: SimulatedHardware, isDeaf: Bool) {
      self.clock = clock
      self.simulated = simulated
      self.isDeaf = isDeaf
    }

    func has(_ step: Step?) {
      let end = pause.withLock { pause -> MonotonicInstant? in
        guard let (awaited, end) = pause, awaited == step else { return nil }
        pause = nil
        return end
      }
      if let end { clock.run(until: end) }
    }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus {
      WatchedBus(wire: self, bus: try simulated.i2cBus(name))
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      let line = try simulated.gpioEdges(name, falling: falling)
      return isDeaf ? DeafLine(line: line) : line
    }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort { throw .notFound(name) }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      throw .notFound("\(name)")
    }
  }

  private struct WatchedBus: I2CBus {
    let wire: Wire
    let bus: any I2CBus

    var name: String { bus.name }
    var maximumReadLength: Int { bus.maximumReadLength }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      try bus.transaction(address, operations)
      wire.has(Step(operations))
    }
  }

  private struct DeafLine: GPIOEdgeInput {
    let line: any GPIOEdgeInput
    let wake = WakeSignal()

    var fileDescriptor: Int32 { wake.fileDescriptor }
    func takeEdges() -> (latest: GPIOEdge, count: Int)? { nil }
    func close() { line.close() }
  }

  /// A board that stands still for two hours, and a thread that waits for its motion.
  private final class Bench: Sendable {
    let clock = ManualClock()
    let wire: Wire
    let told = Recorder<String>()
    let arbiter = ChipArbiter()
    let description: IMUDescription
    private let start: MonotonicInstant
    private let chip: WakeOnMotionChip
    private let stop = StopSignal()
    private let ends = Recorder<String>()

    init(isDeaf: Bool = false, longestSilence: Duration? = nil) throws {
      start = clock.now
      var world = World(start: start)
      world.parked = [0..<7200]
      wire = Wire(clock, SimulatedHardware(clock: clock, world: world), isDeaf: isDeaf)
      let text =
        "{ name: 'x', devices: { imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, "
        + "dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, power: { supplyVolts: 3.3 } } } }"
      description = try #require(try Board(json5: Array(text.utf8), file: "x").imu)
      var chip = try #require(WakeOnMotionChip(description, on: Machine(hardware: wire, clock: clock)))
      if let longestSilence { chip.longestSilence = longestSilence }
      self.chip = chip
    }

    var line: SimulatedInterrupt { wire.simulated.lsm6dsoxInterrupt }

    /// Makes the board move for these seconds as soon as a step has been taken.
    func moves(forSeconds seconds: Int64, behind step: Step) {
      wire.pause.withLock { $0 = (step, start + .seconds(7200 + seconds)) }
    }

    /// Makes the board move for these seconds.
    func move(forSeconds seconds: Int64) { clock.run(until: start + .seconds(7200 + seconds)) }

    func wait() {
      let error = DetachedThread.start("waiting") { [self] in
        do throws(HardwareError) {
          let end = try chip.wait(Poller(stop: stop.fileDescriptor), arbiter) { stillness in
            switch stillness {
            case .still: told.append("still")
            case .moved: told.append("moved")
            case .unknown: told.append("unknown")
            }
          }
          ends.append("\(end)")
        } catch {
          ends.append("\(error)")
        }
      }
      #expect(error == 0)
    }

    /// Whether the chip finally reports these states while the board keeps moving.
    func comesToTell(_ expected: [String]) -> Bool {
      // The chip needs an unknown number of samples until it has noticed the motion, and no event shows that the thread
      // has used up the present ones. So the clock advances while the thread works.
      eventually {
        clock.run(until: clock.now + .milliseconds(10))
        return told.values.count >= expected.count
      } && told.values == expected
    }

    /// Makes the chip's reader take the chip over. Returns once the waiting thread has ended.
    func lend() throws {
      #expect(try arbiter.take(Poller(stop: stop.fileDescriptor), clock: MonotonicClock()))
      #expect(ends.waits { !$0.isEmpty } && ends.values == ["wanted"])
    }

    func end() {
      stop.set()
      #expect(ends.waits { !$0.isEmpty } && ends.values == ["stopped"])
    }
  }

  /// The steps of interest: reading the cause of a wake, which clears it; enabling the interrupts; making the line
  /// report them.
  private static let (source, enable, tell) = (Step.read(0x1B), Step.write(0x58), Step.write(0x5E))

  @Test(arguments: [source, enable, tell])
  func `a motion while the chip is set to wait is noticed`(_ step: Step) throws {
    let bench = try Bench()
    bench.moves(forSeconds: 5, behind: step)
    bench.wait()
    #expect(bench.comesToTell(["still", "moved"]), "\(bench.told.values)")
    bench.end()
  }

  @Test func `a line that is already high when the chip is set to wait hides no motion`() throws {
    let bench = try Bench()
    let other = bench.line.edges(falling: false)
    let before = try #require(bench.description.chip.wakeOnMotion).driver(
      ChipConnection(
        bus: try bench.wire.simulated.i2cBus("simulated/i2c"), address: 0x6A, clock: bench.clock, pause: { _ in }))
    try before.start()
    bench.move(forSeconds: 5)
    #expect(bench.line.isHigh)
    other.close()
    bench.wait()
    #expect(bench.comesToTell(["still", "moved"]), "\(bench.told.values)")
    bench.end()
  }

  /// The steps of a check: whether the chip is at its rate, whether its line reports, and whether it has moved.
  private static let questions = [Step.read(0x10), .read(0x5E), source]

  @Test(arguments: questions)
  func `a motion while the chip is queried is noticed`(_ step: Step) throws {
    let bench = try Bench()
    bench.wait()
    #expect(bench.told.waits { $0 == ["still"] })
    bench.moves(forSeconds: 5, behind: step)
    bench.arbiter.question()
    #expect(bench.comesToTell(["still", "moved"]), "\(bench.told.values)")
    bench.end()
  }

  @Test(arguments: questions)
  func `a motion that continues while the chip is queried is noticed again`(_ step: Step) throws {
    let bench = try Bench()
    bench.wait()
    #expect(bench.told.waits { $0 == ["still"] })
    bench.move(forSeconds: 5)
    #expect(bench.told.waits { $0 == ["still", "moved"] } && bench.line.isHigh)
    bench.moves(forSeconds: 10, behind: step)
    bench.arbiter.question()
    #expect(bench.comesToTell(["still", "moved", "still", "moved"]), "\(bench.told.values)")
    bench.end()
  }

  @Test func `a motion without an edge of the line is noticed when the chip is queried`() throws {
    let bench = try Bench(isDeaf: true)
    bench.wait()
    #expect(bench.told.waits { $0 == ["still"] })
    bench.move(forSeconds: 5)
    #expect(bench.line.isHigh && bench.told.values == ["still"])
    bench.arbiter.question()
    #expect(bench.told.waits { $0 == ["still", "moved"] })
    bench.end()
  }

  @Test func `a chip that is silent for long is read without a question, because it may have lost its supply`() throws {
    let bench = try Bench(isDeaf: true, longestSilence: .milliseconds(20))
    bench.wait()
    #expect(bench.told.waits { $0 == ["still"] })
    bench.move(forSeconds: 5)
    #expect(bench.told.waits { $0 == ["still", "moved"] })
    bench.end()
  }

  @Test func `a motion without an edge of the line is noticed when the reader takes the chip over`() throws {
    let bench = try Bench(isDeaf: true)
    bench.wait()
    #expect(bench.told.waits { $0 == ["still"] })
    bench.move(forSeconds: 5)
    try bench.lend()
    #expect(bench.told.values == ["still", "moved"])
  }
}
