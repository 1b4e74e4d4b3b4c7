import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// A simulated receiver, a port to it, and a clock that the test advances.
final class ReceiverBench {
  let clock = ManualClock()
  let hardware: SimulatedHardware
  let receiver: CommandedReceiver
  private(set) var port: any SerialPort
  private(set) var heard: [UInt8] = []
  private let personality: ReceiverPersonality
  private let line: any GPIOOutput

  /// - Parameter isOn: whether the receiver has its supply and has booted
  init(
    _ personality: ReceiverPersonality, _ configuration: CommandedReceiver.Configuration = .init(), isOn: Bool = true
  ) throws {
    self.personality = personality
    hardware = SimulatedHardware(clock: clock)
    receiver = hardware.receiver(personality, configuration: configuration)
    let speed = BaudRate(rawValue: personality.factorySpeed) ?? .b9600
    port = try hardware.serialPort(personality.port, speed: speed)
    let name = GPIOLineName(chip: SimulatedHardware.gpioChip, line: personality.powerLine)
    line = try hardware.gpioOutput(name, activeLow: false)
    if isOn { setPower(true) }
  }

  func setPower(_ isOn: Bool) {
    try? line.set(isOn)
    if isOn { run(.milliseconds(400)) }
  }

  /// Closes the port for a while, like a program that does not need it.
  func reopen(after pause: Duration) throws {
    port.close()
    run(pause)
    heard = []
    port = try hardware.serialPort(personality.port, speed: BaudRate(rawValue: receiver.speed) ?? .b9600)
  }

  /// Advances the clock, including all events on the way.
  func run(_ duration: Duration) {
    clock.run(until: clock.now + duration)
    listen()
  }

  /// Advances the clock until the receiver has a fix.
  func runUntilFix() {
    for _ in 0..<120 where receiver.phase != .tracking { run(.seconds(1)) }
  }

  /// Returns once the receiver's own thread has received the bytes, so that later events follow them.
  func tell(_ bytes: [UInt8]) throws {
    let count = receiver.receivedByteCount + bytes.count
    try port.write(bytes)
    // The kernel passes the bytes of a pseudo-terminal on a little later than they are written.
    #expect(eventually { receiver.receivedByteCount == count })
  }

  func tell(_ sentence: String) throws { try tell(Array(nmeaLine(sentence).utf8)) }

  /// Whether the receiver sends these bytes, within the deadline.
  func hears(_ bytes: [UInt8]) -> Bool { listens { heard.contains(bytes) } }

  func hears(_ sentence: String) -> Bool { hears(Array(nmeaLine(sentence).utf8)) }

  /// The payloads of a UBX message that the receiver has sent.
  func payloads(_ group: UInt8, _ id: UInt8) -> [[UInt8]] {
    listen()
    var found: [[UInt8]] = []
    for start in heard.indices.dropLast(7) where Array(heard[start..<(start + 4)]) == [0xB5, 0x62, group, id] {
      let length = Int(heard[start + 4]) | Int(heard[start + 5]) << 8
      if start + 8 + length <= heard.count { found.append(Array(heard[(start + 6)..<(start + 6 + length)])) }
    }
    return found
  }

  /// The payloads, once there are `count` of them.
  func payloads(_ group: UInt8, _ id: UInt8, count: Int) -> [[UInt8]] {
    _ = listens { payloads(group, id).count >= count }
    return payloads(group, id)
  }

  func forget() {
    listen()
    heard = []
  }

  /// Reads bytes until a condition is met, because the kernel passes bytes on a little later than the receiver writes
  /// them.
  ///
  /// - Returns: whether the condition was met before the deadline of a test
  func listens(until isMet: () -> Bool) -> Bool {
    let (time, poller) = (MonotonicClock(), Poller(stop: -1))
    let deadline = time.now + .seconds(180)
    while true {
      listen()
      if isMet() { return true }
      let rest = deadline - time.now
      guard rest > .zero, poller.wait(for: port.fileDescriptor, atMost: rest) == .readable else { return false }
    }
  }

  /// Reads the bytes that have arrived.
  func listen() {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      while let count = try? port.read(into: buffer), count > 0 { heard += buffer[..<count] }
    }
  }
}

/// A UBX frame with its checksum.
func ubx(_ group: UInt8, _ id: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
  let content = [group, id, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8)] + payload
  let sums = content.reduce((UInt8(0), UInt8(0))) { ($0.0 &+ $1, $0.1 &+ $0.0 &+ $1) }
  return [0xB5, 0x62] + content + [sums.0, sums.1]
}

func acknowledgement(_ group: UInt8, _ id: UInt8) -> [UInt8] { ubx(5, 1, [group, id]) }
func refusal(_ group: UInt8, _ id: UInt8) -> [UInt8] { ubx(5, 0, [group, id]) }

/// CFG-RATE.
func rate(milliseconds: UInt16) -> [UInt8] {
  ubx(6, 8, [UInt8(milliseconds & 0xFF), UInt8(milliseconds >> 8), 1, 0, 1, 0])
}

/// CFG-VALSET with one key.
func valset(_ layers: UInt8, _ key: UInt32, _ value: [UInt8]) -> [UInt8] {
  ubx(6, 0x8A, [0, layers, 0, 0] + (0..<4).map { UInt8(truncatingIfNeeded: key >> (8 * $0)) } + value)
}

/// Four bytes of a payload as an integer.
func word(_ payload: [UInt8], _ at: Int) -> Int32 {
  Int32(bitPattern: payload[at..<(at + 4)].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
}
