import HardwareIO
import MonotonicTime

/// Commands of the MS5611, by the names of its data sheet. The chip has no registers.
///
/// Pitfalls:
///
/// - Reading a result before the conversion is over returns 0, and makes the later result 0 as well.
/// - A result can be read only once.
/// - Raw values have no meaning without the coefficients in the chip's PROM. A raw pressure also needs a temperature
///   of the same minute, because an error of a tenth of a degree changes the pressure by 20 Pa.
/// - An MS5607 looks the same on the bus, but the same raw values mean other pressures.
enum MS5611Command {
  /// Reset. The PROM can be read after 2.8 ms.
  static let reset: UInt8 = 0x1E
  /// ADC Read: the result of the conversion, 24 bits, high byte first.
  static let readResult: UInt8 = 0x00
  /// PROM Read: the first of eight words, high byte first; the following commands are 2 apart.
  static let readPROM: UInt8 = 0xA0
  /// Convert D1, with an oversampling of 4096: pressure.
  static let convertPressure: UInt8 = 0x48
  /// Convert D2, with an oversampling of 4096: temperature.
  static let convertTemperature: UInt8 = 0x58
}

/// Driver of the MS5611, which measures only on command, and either the pressure or the temperature at a time.
///
/// A read does not wait: it takes the result of the last conversion, and starts the next conversion. After each
/// sample, the next reads convert the temperature first and the pressure second. The result of the pressure stays in
/// the chip until the next sample is due. A sample therefore takes at least three reads.
final class MS5611Driver: PolledDriver {
  private enum Quantity {
    case pressure, temperature
  }

  /// The maximum conversion time with the greatest oversampling. `halfConversionTime` is half of the typical time,
  /// because the time of a measurement is the middle of its conversion.
  private static let conversionTime = Duration.microseconds(9040)
  private static let halfConversionTime = Duration.microseconds(4110)

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let period: Duration
  private var prom: MS5611PROM?
  /// The chip's conversion, running or finished, and the time of its start.
  private var conversion: (quantity: Quantity, began: MonotonicInstant)?
  private var temperature: Int?
  /// The earliest time of the next sample.
  private var due = MonotonicInstant(nanoseconds: 0)

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 3)
    period = .nanoseconds(Int64(1e9 / MS5611Rate(nearest: configuration.rateHz).hertz))
  }

  func start() throws(HardwareError) {
    let chip = BarometerChip.ms5611
    try chip.identity.require(chip.title, of: registers)
    try registers.send(MS5611Command.reset)
    // The PROM is available again after 2.8 ms.
    connection.pause(.milliseconds(3))
    let prom = try MS5611PROM(registers)
    guard prom.isGenuine else {
      throw .unexpectedDevice(
        "the MS5611 at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name) has invalid calibration data")
    }
    try begin(.temperature)
    connection.pause(.milliseconds(10))
    temperature = try result()
    try begin(.pressure)
    self.prom = prom
    // The first sample is due after half a period. A caller that reads once per period then reads halfway between two
    // due times, so no read is slightly too early.
    due = connection.clock.now + period / 2
  }

  func read() throws(HardwareError) -> BarometerSample? {
    guard let prom, let conversion else { return nil }
    let now = connection.clock.now
    guard now - conversion.began >= MS5611Driver.conversionTime else { return nil }
    switch conversion.quantity {
    case .temperature:
      temperature = try result()
      // If the temperature is missing, measure it again.
      try begin(temperature == nil ? .temperature : .pressure)
      return nil
    case .pressure:
      guard now >= due else { return nil }
      let pressure = try result()
      due = max(due + period, now)
      try begin(.temperature)
      guard let pressure, let temperature else { return nil }
      let (pascals, celsius) = prom.pressureAndTemperature(pressure, temperature)
      return BarometerSample(
        goodAt: conversion.began + MS5611Driver.halfConversionTime, pressurePascals: pascals,
        temperatureCelsius: celsius)
    }
  }

  /// Sends nothing to the chip: a running conversion ends by itself, and then the chip sleeps.
  func stop() { conversion = nil }

  private func begin(_ quantity: Quantity) throws(HardwareError) {
    let command =
      switch quantity {
      case .pressure: MS5611Command.convertPressure
      case .temperature: MS5611Command.convertTemperature
      }
    try registers.send(command)
    conversion = (quantity, connection.clock.now)
  }

  /// The result of the conversion. Returns `nil` if there is none, for example after a reset by another program, or on
  /// a stuck bus.
  private func result() throws(HardwareError) -> Int? {
    let bytes = try registers.read(MS5611Command.readResult, count: 3)
    let number = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    return number == 0 || number == 0xFF_FFFF ? nil : number
  }
}

/// A rate of the MS5611. The chip has no rates of its own, so any rate works that leaves time for two conversions.
struct MS5611Rate {
  let hertz: Double

  init(nearest requested: Double) { hertz = min(max(requested, 0.5), 50) }
}

/// The calibration coefficients of an MS5611, and the formulas that convert raw values with them: section "pressure
/// and temperature calculation" of the data sheet, including the second order.
struct MS5611PROM: Sendable {
  /// The eight words: one for the manufacturer, six coefficients, and one with a serial number and the checksum.
  private var words = SIMD8<UInt16>()

  init(_ registers: I2CRegisters) throws(HardwareError) {
    for index in 0..<8 {
      let bytes = try registers.read(MS5611Command.readPROM + UInt8(2 * index), count: 2)
      words[index] = UInt16(bitPattern: bytes.bigEndian(at: 0))
    }
  }

  /// Whether the contents are those of an MS5611: no coefficient is missing, and the checksum is right.
  var isGenuine: Bool {
    for index in 1...6 where words[index] == 0 || words[index] == 0xFFFF { return false }
    return words[7] & 0x000F == check
  }

  /// The checksum: four bits over all words except the byte that contains it (application note AN520).
  private var check: UInt16 {
    var remainder: UInt16 = 0
    for index in 0..<8 {
      let word = index == 7 ? words[7] & 0xFF00 : words[index]
      for byte in [word >> 8, word & 0xFF] {
        remainder ^= byte
        for _ in 0..<8 { remainder = remainder & 0x8000 == 0 ? remainder << 1 : remainder << 1 ^ 0x3000 }
      }
    }
    return remainder >> 12
  }

  /// The pressure in Pa, and the temperature in degrees Celsius.
  func pressureAndTemperature(_ rawPressure: Int, _ rawTemperature: Int) -> (pascals: Double, celsius: Double) {
    func c(_ index: Int) -> Double { Double(words[index]) }
    let difference = Double(rawTemperature) - c(5) * 0x1p8
    var hundredths = 2000 + difference * c(6) * 0x1p-23
    var offset = c(2) * 0x1p16 + c(4) * difference * 0x1p-7
    var slope = c(1) * 0x1p15 + c(3) * difference * 0x1p-8
    if hundredths < 2000 {
      let cold = (hundredths - 2000) * (hundredths - 2000)
      offset -= cold * 5 / 2
      slope -= cold * 5 / 4
      if hundredths < -1500 {
        let veryCold = (hundredths + 1500) * (hundredths + 1500)
        offset -= veryCold * 7
        slope -= veryCold * 11 / 2
      }
      hundredths -= difference * difference * 0x1p-31
    }
    return ((Double(rawPressure) * slope * 0x1p-21 - offset) * 0x1p-15, hundredths / 100)
  }
}

extension BarometerChip {
  static var ms5611: BarometerChip {
    BarometerChip(
      name: "ms5611", title: "MS5611", addresses: [0x77, 0x76],
      identity: ChipIdentity(register: MS5611Command.readPROM, toldBy: "its checksum") {
        (registers) throws(HardwareError) in
        try MS5611PROM(registers).isGenuine
      },
      provenAgainst: "Linux (ms5611)",
      // A sample takes at least three reads of the driver.
      looksPerSample: 3,
      // 0.3 mA is the current at 25 Hz, in proportion to 0.0125 mA at 1 Hz. 0.0001 mA is the current between
      // conversions.
      milliamperes: 0.3, sleepMilliamperes: 0.0001, ratesHz: 0.5...50,
      actualRate: { MS5611Rate(nearest: $0).hertz },
      makeDriver: { MS5611Driver($0, $1) },
      // The chip sleeps whenever it does not convert, and a reset ends a conversion.
      putToSleep: { (registers) throws(HardwareError) in try registers.send(MS5611Command.reset) })
  }
}
