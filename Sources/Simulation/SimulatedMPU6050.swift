import Guarding
import HardwareIO
import MonotonicTime

/// An MPU-6050 or a related chip, with its sleep bit, divider, ranges and FIFO with overflow, and the magnetometer
/// that the MPU-9250 and MPU-9255 read over an internal bus. Through the bypass, the magnetometer is accessed as a
/// separate chip, `SimulatedAK8963`.
///
/// The twin has no thread. Each access computes the samples that have become due since the last access.
public final class SimulatedMPU6050: SimulatedChip {
  /// The member of the family, by its "who am I" value.
  public enum Identity: UInt8, CaseIterable, Sendable {
    case mpu6050 = 0x68
    case mpu6500 = 0x70
    case mpu9250 = 0x71
    case mpu9255 = 0x73
    case mpu6515 = 0x74
    case mpu6880 = 0x78
    case icm20600 = 0x11
    case icm20602 = 0x12
    case icm20608 = 0xAF
    case icm20689 = 0x98
    case icm20690 = 0x20
    case iam20680 = 0xA9
  }

  private struct State {
    var registers: [UInt8]
    var inertia: SimulatedInertia
    var magnetometer = AuxiliaryMagnetometer()
    var lostCount = 0
    var fifo: [UInt8] = []
    var hasOverflown = false
    var fault: I2CFault?

    init(_ identity: Identity) {
      registers = SimulatedMPU6050.resetRegisters(identity)
      // Noise from the product specification of the MPU-6050: 0.05 °/s, 4 mg.
      inertia = SimulatedInertia(seed: 6050, ratesSigma: 0.05 * .pi / 180, forceSigma: identity.forceSigma)
    }

    mutating func store(_ axes: SIMD3<Int16>, at register: UInt8) {
      for axis in 0..<3 {
        registers[Int(register) + 2 * axis] = UInt8(truncatingIfNeeded: axes[axis] >> 8)
        registers[Int(register) + 2 * axis + 1] = UInt8(truncatingIfNeeded: axes[axis])
      }
    }
  }

  public let name: String
  public let maximumReadLength: Int
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let identity: Identity
  private let isPowered: @Sendable () -> Bool
  private let state: Guarded<State>

  /// - Parameters:
  ///   - isPowered: whether the chip has its supply; without it, the chip does not answer
  ///   - maximumReadLength: 32 simulates an SMBus adapter
  ///   - identity: the member of the family
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(), maximumReadLength: Int = 4096,
    address: UInt8 = 0x68, identity: Identity = .mpu6050, isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.world = world
    self.clock = clock
    self.maximumReadLength = maximumReadLength
    self.address = address
    self.identity = identity
    self.isPowered = isPowered
    state = Guarded(State(identity))
  }

  /// Injects a fault. `nil` removes the fault.
  public func inject(_ fault: I2CFault?) { state.withLock { $0.fault = fault } }

  /// When the first sample after an instant is ready; `nil` while the chip does not sample.
  public func nextSample(after instant: MonotonicInstant) -> MonotonicInstant? {
    state.withLock { state in
      guard let (start, period) = sampling(state) else { return nil }
      let count = max(0, (instant - start).inNanoseconds / period) + 1
      return start + .nanoseconds(period * count)
    }
  }

  /// Whether the magnetometer in the chip's package is connected to the host's bus.
  public var isBypassOn: Bool {
    guard identity.hasMagnetometer, isPowered() else { return false }
    return state.withLock { state in
      state.registers[Int(Register.interruptPin)] & 0x02 != 0 && state.registers[Int(Register.userControl)] & 0x20 == 0
    }
  }

  /// The number of samples taken, including lost ones, and the number of samples lost to overflows, since the last
  /// write to the register that switches the FIFO.
  public var samples: (taken: Int, lost: Int) { state.withLock { ($0.inertia.sampleCount, $0.lostCount) } }

  /// Records that the supply has failed, so that registers and FIFO are lost.
  public func lostPower() {
    state.withLock { state in
      let fault = state.fault
      state = State(identity)
      state.fault = fault
    }
  }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    let error = state.withLock { state -> HardwareError? in
      guard address == self.address, isPowered() else { return .noAcknowledge(bus: name, address: address) }
      if let error = state.fault?.error(bus: name, address: address) { return error }
      operations.perform(
        next: { $0 == Register.fifo ? $0 : $0 &+ 1 }, write: { write($0, to: $1, &state) },
        beginReading: {
          fillFIFO(&state)
          measure(&state)
        },
        read: { register in
          let value = read(register, &state)
          return if case .stuck(let stuck) = state.fault { stuck } else { value }
        })
      return nil
    }
    if let error { throw error }
  }

  private enum Register {
    static let divider: UInt8 = 0x19
    static let gyroscopeRange: UInt8 = 0x1B
    static let accelerometerRange: UInt8 = 0x1C
    static let accelerometerConfiguration2: UInt8 = 0x1D
    static let fifoEnable: UInt8 = 0x23
    /// The address, register and control of the first device on the internal bus. The registers for the second device
    /// follow.
    static let device0: UInt8 = 0x25
    static let deviceStatus: UInt8 = 0x36
    static let interruptPin: UInt8 = 0x37
    static let interruptStatus: UInt8 = 0x3A
    static let accelerometer: UInt8 = 0x3B
    static let temperature: UInt8 = 0x41
    static let gyroscope: UInt8 = 0x43
    static let deviceData: UInt8 = 0x49
    /// The output for the first device. The output for the second device follows.
    static let deviceOutput: UInt8 = 0x63
    static let userControl: UInt8 = 0x6A
    static let powerManagement1: UInt8 = 0x6B
    static let powerManagement2: UInt8 = 0x6C
    static let fifoCount: UInt8 = 0x72
    static let fifo: UInt8 = 0x74
    static let whoAmI: UInt8 = 0x75
  }

  private static func resetRegisters(_ identity: Identity) -> [UInt8] {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Int(Register.powerManagement1)] = 0x40
    registers[Int(Register.whoAmI)] = identity.rawValue
    return registers
  }

  private func write(_ value: UInt8, to register: UInt8, _ state: inout State) {
    guard register < 128, register != Register.whoAmI else { return }
    state.registers[Int(register)] = value
    switch register {
    case Register.powerManagement1 where value & 0x80 != 0:
      state.registers = SimulatedMPU6050.resetRegisters(identity)
      state.fifo = []
      state.inertia.begin(at: nil)
    case Register.userControl:
      if value & 0x04 != 0 {
        state.fifo = []
        state.hasOverflown = false
        state.registers[Int(register)] = value & ~0x04
      }
      state.inertia.begin(at: value & 0x40 != 0 ? clock.now : nil)
      state.lostCount = 0
      askDevices(&state)
    default: break
    }
  }

  private func read(_ register: UInt8, _ state: inout State) -> UInt8 {
    switch register {
    case Register.interruptStatus:
      defer { state.hasOverflown = false }
      return (state.hasOverflown ? 0x10 : 0) | 0x01
    case Register.temperature: return UInt8(truncatingIfNeeded: identity.temperature >> 8)
    case Register.temperature + 1: return UInt8(truncatingIfNeeded: identity.temperature)
    case Register.fifoCount: return UInt8(truncatingIfNeeded: state.fifo.count >> 8)
    case Register.fifoCount + 1: return UInt8(truncatingIfNeeded: state.fifo.count)
    case Register.fifo: return state.fifo.isEmpty ? 0xFF : state.fifo.removeFirst()
    default: return register < 128 ? state.registers[Int(register)] : 0xFF
    }
  }

  private func units(_ state: borrowing State) -> (degrees: Double, gravities: Double) {
    let gyroscope = state.registers[Int(Register.gyroscopeRange)] >> identity.gyroscopeRangeShift & 3
    let accelerometer = state.registers[Int(Register.accelerometerRange)] >> 3 & 3
    return (Double(250 << Int(gyroscope)) / 32768, Double(2 << Int(accelerometer)) / 32768)
  }

  /// Updates the data registers of each sensor that is on. The FIFO is separate.
  private func measure(_ state: inout State) {
    guard state.registers[Int(Register.powerManagement1)] & 0x40 == 0 else { return }
    let units = units(state)
    let raw = state.inertia.raw(
      world.truth(at: clock.now), degreesPerUnit: units.degrees, gravitiesPerUnit: units.gravities)
    let standby = state.registers[Int(Register.powerManagement2)]
    if standby & 0x38 == 0 { state.store(raw.accelerometer, at: Register.accelerometer) }
    if standby & 0x07 == 0 { state.store(raw.gyroscope, at: Register.gyroscope) }
    askDevices(&state)
  }

  /// Adds the samples taken since the last access to the FIFO.
  private func fillFIFO(_ state: inout State) {
    guard let (_, period) = sampling(state) else { return }
    let units = units(state)
    let contents = contents(state)
    let size = identity.fifoSize(configuration: state.registers[Int(Register.accelerometerConfiguration2)])
    // Swap the FIFO out and back, to avoid a copy.
    var fifo: [UInt8] = []
    swap(&fifo, &state.fifo)
    if fifo.capacity < 2 * size { fifo.reserveCapacity(2 * size) }
    let lost = state.inertia.takeDue(at: clock.now, period: period, limit: size / 6 + 30) { _, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: units.degrees, gravitiesPerUnit: units.gravities)
      if contents.hasAccelerometer { fifo.append(highByteFirst: raw.accelerometer) }
      if contents.hasTemperature {
        fifo.append(UInt8(truncatingIfNeeded: identity.temperature >> 8))
        fifo.append(UInt8(truncatingIfNeeded: identity.temperature))
      }
      if contents.hasGyroscope { fifo.append(highByteFirst: raw.gyroscope) }
    }
    swap(&fifo, &state.fifo)
    state.lostCount += lost
    if lost > 0 { state.hasOverflown = true }
    if state.fifo.count > size {
      state.hasOverflown = true
      state.lostCount += (state.fifo.count - size + contents.length - 1) / contents.length
      state.fifo.removeFirst(state.fifo.count - size)
    }
  }

  /// The contents of a FIFO frame, in this order.
  private struct Contents {
    var hasAccelerometer: Bool
    var hasTemperature: Bool
    var hasGyroscope: Bool

    var length: Int { (hasAccelerometer ? 6 : 0) + (hasTemperature ? 2 : 0) + (hasGyroscope ? 6 : 0) }
  }

  private func contents(_ state: borrowing State) -> Contents {
    let enabled = state.registers[Int(Register.fifoEnable)]
    // These chips have one bit for all gyroscope axes, and none for the temperature.
    if identity.hasTemperatureInFrames {
      return Contents(
        hasAccelerometer: enabled & 0x08 != 0, hasTemperature: enabled & 0x18 != 0, hasGyroscope: enabled & 0x10 != 0)
    }
    return Contents(
      hasAccelerometer: enabled & 0x08 != 0, hasTemperature: enabled & 0x80 != 0,
      hasGyroscope: enabled & 0x70 == 0x70)
  }

  /// When sampling into the FIFO began, and its period in nanoseconds; `nil` while nothing enters the FIFO.
  private func sampling(_ state: borrowing State) -> (start: MonotonicInstant, period: Int64)? {
    let isAsleep = state.registers[Int(Register.powerManagement1)] & 0x40 != 0
    guard let start = state.inertia.start, !isAsleep, contents(state).length > 0 else { return nil }
    return (start, Int64(state.registers[Int(Register.divider)]) * 1_000_000 + 1_000_000)
  }

  /// Performs the transfers with the first two of the four devices on the internal bus.
  private func askDevices(_ state: inout State) {
    guard state.registers[Int(Register.userControl)] & 0x20 != 0 else { return }
    state.magnetometer.field = world.truth(at: clock.now).magneticField
    state.registers[Int(Register.deviceStatus)] = 0
    for device in 0..<2 {
      let setting = Int(Register.device0) + 3 * device
      let (address, register) = (state.registers[setting], state.registers[setting + 1])
      let control = state.registers[setting + 2]
      guard control & 0x80 != 0 else { continue }
      guard identity.hasMagnetometer, address & 0x7F == AuxiliaryMagnetometer.address else {
        state.registers[Int(Register.deviceStatus)] |= 1 << UInt8(device)
        continue
      }
      guard address & 0x80 != 0 else {
        state.magnetometer.write(state.registers[Int(Register.deviceOutput) + device], to: register)
        continue
      }
      // The chip swaps the two bytes of each number if configured to. A number may begin at an odd register.
      let isSwapped = control & 0x40 != 0
      let parity = control & 0x10 != 0 ? 1 : 0
      let asked = Int(register)..<Int(register) + Int(control & 0x0F)
      for (index, next) in asked.enumerated() {
        let partner = next & 1 == parity ? next + 1 : next - 1
        let from = isSwapped && asked.contains(partner) ? partner : next
        state.registers[Int(Register.deviceData) + index] =
          state.magnetometer.read(UInt8(truncatingIfNeeded: from))
      }
    }
  }
}

extension SimulatedMPU6050.Identity {
  /// The standard deviation of one sample in m/s².
  fileprivate var forceSigma: Double {
    switch self {
    case .mpu6050: 0.04
    case .mpu6500, .mpu9250, .mpu9255, .mpu6515, .mpu6880: 0.025
    case .icm20600, .icm20602, .icm20608, .icm20689, .icm20690, .iam20680: 0.015
    }
  }

  /// The raw value of 25 °C.
  fileprivate var temperature: Int {
    switch self {
    case .mpu6050: Int((25 - 36.53) * 340)
    case .mpu6500, .mpu9250, .mpu9255, .mpu6515, .mpu6880: Int((25 - 21) * 333.87)
    case .icm20600, .icm20602, .icm20608, .icm20689, .icm20690, .iam20680: 0
    }
  }

  fileprivate var hasTemperatureInFrames: Bool { self == .icm20600 || self == .icm20602 }

  fileprivate var gyroscopeRangeShift: UInt8 { self == .icm20690 ? 2 : 3 }

  fileprivate var hasMagnetometer: Bool { self == .mpu9250 || self == .mpu9255 }

  /// The FIFO size in bytes.
  ///
  /// - Parameter configuration: accelerometer configuration 2, whose top bits contain the size
  fileprivate func fifoSize(configuration: UInt8) -> Int {
    switch self {
    case .mpu6050: 1024
    case .icm20600, .icm20602: 1008
    case .icm20690: min(512 << Int(configuration >> 6), 1024)
    case .icm20689: 512 << Int(configuration >> 6)
    case .mpu6500, .mpu9250, .mpu9255, .mpu6515, .mpu6880, .icm20608, .iam20680: 512
    }
  }
}

/// The AK8963 in the package of an MPU-9250, with the registers that are read over the internal bus: its identity,
/// trim and field.
private struct AuxiliaryMagnetometer {
  static let address: UInt8 = 0x0C

  /// The field in the axes of the MPU-9250, in microtesla.
  var field = SIMD3<Double>.zero
  private var control: UInt8 = 0

  mutating func write(_ value: UInt8, to register: UInt8) {
    switch register {
    case 0x0A: control = value
    case 0x0B where value & 0x01 != 0: control = 0
    default: break
    }
  }

  func read(_ register: UInt8) -> UInt8 {
    switch register {
    case 0x00: return 0x48
    case 0x01: return 0x9A
    case 0x02: return control & 0x0F == 0 ? 0 : 0x01
    case 0x03...0x08:
      // The magnetometer has x and y exchanged and z reversed, relative to the MPU.
      let axes = SIMD3<Int16>.units(SIMD3(field.y, field.x, -field.z) / (control & 0x10 != 0 ? 0.15 : 0.6))
      let axis = axes[Int(register - 0x03) / 2]
      return UInt8(truncatingIfNeeded: register & 1 == 1 ? axis : axis >> 8)
    case 0x09: return control & 0x10
    case 0x0A: return control
    // The trim is neutral, and can be read only in one mode.
    case 0x10...0x12: return control & 0x0F == 0x0F ? 128 : 0
    default: return 0
    }
  }
}
