import Devices
import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Compares the kernel's drivers with the hub's on the same twins, so that neither twin nor driver depends on a
  /// single reading of a data sheet.
  @Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: Bench.isVirtual, "these need the bench's kernel"))
  struct KernelDriverTests {
    /// A chip, its twin on a separate bus, its name in the kernel, and the peculiarities of its kernel driver.
    struct Candidate: CustomTestStringConvertible, Sendable {
      let name: String
      let kernelName: String
      let address: UInt8
      let twin: @Sendable (World) -> any I2CBus
      /// The noise of the twin. Some chips have no flag for new data; only noise tells their measurements apart.
      var noiseScale = 0.0
      var needsInterrupt = false
      /// The indices of the kernel's axes for x, y and z.
      var kernelOrder = SIMD3(0, 1, 2)
      /// The factors for these axes.
      var kernelAxes = SIMD3<Double>(1, 1, 1)
      /// The unit from the data sheet. The kernel rounds units to a few digits.
      var unitMicrotesla = 0.0
      /// The factor from the kernel's unit to microtesla.
      var kernelMicrotesla = 100.0
      /// A full scale of 2 g or 250 °/s divided by 32768, as in most chips.
      var unitGravities = 2.0 / 32768
      var unitDegreesPerSecond = 250.0 / 32768
      /// The permitted error of the kernel's arithmetic in pascals.
      var kernelPascals = 1.0

      /// The other chip of the package, if it has a separate kernel driver.
      var companion: (kernelName: String, address: UInt8)?

      var testDescription: String { name }

      func bind(to relay: I2CRelay) throws -> KernelSensor {
        let sensor = try KernelSensor(
          driver: kernelName, bus: relay.path, address: address, needsInterrupt: needsInterrupt)
        guard let companion else { return sensor }
        let other = try KernelSensor(driver: companion.kernelName, bus: relay.path, address: companion.address)
        return KernelSensor([sensor, other])
      }
    }

    private static func candidate<Registers>(
      _ name: String, _ kernelName: String, _ address: UInt8, _ twin: SimulatedRegisterChip<Registers>.Type,
      _ change: (inout Candidate) -> Void = { _ in }
    ) -> Candidate {
      var candidate = Candidate(
        name: name, kernelName: kernelName, address: address,
        twin: { SimulatedRegisterChip<Registers>(name: "twin", world: $0, address: address) { true } })
      change(&candidate)
      return candidate
    }

    /// A constant rotation without other motion, so that all readings are the same if the chips have no noise.
    private static func world(spin: Double, noiseScale: Double) -> World {
      var world = World(start: MonotonicClock().now)
      world.turntable = World.Turntable(
        rollRadians: 0.3, pitchRadians: -0.2, yawRadians: 1.1, radiansPerSecond: spin)
      world.noiseScale = noiseScale
      world.weatherPascals = 0
      return world
    }

    private static let never = StopSignal()

    /// Waits for a chip, in the time of the bench.
    private static func pause(_ duration: Duration) {
      _ = Poller(stop: never.fileDescriptor).wait(for: nil, atMost: duration)
    }

    private static func connection(_ relay: I2CRelay, _ address: UInt8) throws -> ChipConnection {
      ChipConnection(bus: try LinuxI2CBus(relay.path), address: address, pause: { pause($0) })
    }

    /// The unit multiplied by the power of two that is closest to the scale.
    private static func nearest(_ unit: Double, to scale: Double) -> Double {
      unit * exp2((log2(scale / unit)).rounded())
    }

    private static func largest(_ vector: SIMD3<Double>) -> Double { max(vector.max(), -vector.min()) }

    static let magnetometers = [
      candidate("lis3mdl", "lis3mdl", 0x1C, SimulatedLIS3MDL.self) { $0.unitMicrotesla = 100 / 6842.0 },
      // Its kernel driver's unit is too small by a factor of a hundred.
      candidate("hmc5883l", "hmc5883l", 0x1E, SimulatedHMC5883L.self) {
        $0.noiseScale = 0.1
        $0.unitMicrotesla = 100 / 1090.0
        $0.kernelMicrotesla = 10000
      },
      // The values are in the axes of its IMU. The kernel reads 14 bits in the chip's own axes, and includes the trim
      // in the unit of each axis; this is the unit of x.
      candidate("ak8963", "ak8963", 0x0C, SimulatedAK8963.self) {
        $0.unitMicrotesla = 0.6 * 304 / 256
        $0.kernelOrder = SIMD3(1, 0, 2)
        $0.kernelAxes = SIMD3(306 / 304.0, 1, -294 / 304.0)
      },
      // The kernel reads a trim that this chip does not have, and its unit is half the correct one.
      candidate("ak09916", "ak09916", 0x0C, SimulatedAK09916.self) {
        $0.unitMicrotesla = 0.15
        $0.kernelMicrotesla = 200
        $0.kernelAxes = SIMD3(1, -1, -1)
      },
      // Converted to the axes of the inertial part; the kernel does not convert them.
      candidate("lsm9ds1-mag", "lsm9ds1_magn", 0x1E, SimulatedLSM9DS1Magnetometer.self) {
        $0.unitMicrotesla = 100 / 6842.0
        $0.kernelAxes = SIMD3(-1, 1, -1)
      },
      // Its axes are left-handed; the kernel does not convert them.
      candidate("lis2mdl", "lis2mdl", 0x1E, SimulatedLIS2MDL.self) {
        $0.unitMicrotesla = 0.15
        $0.kernelAxes = SIMD3(1, 1, -1)
      },
    ]

    static let supplyMonitors = [
      SupplyMonitor(name: "ina219", unitVolts: 10e-6) { SimulatedINA219(name: "twin", supply: $0, world: $1) { true } },
      SupplyMonitor(name: "ina226", unitVolts: 2.5e-6) {
        SimulatedINA226(name: "twin", supply: $0, world: $1) { true }
      },
    ]

    struct SupplyMonitor: CustomTestStringConvertible, Sendable {
      let name: String
      /// The unit of the shunt voltage.
      let unitVolts: Double
      let twin: @Sendable (SimulatedSupply, World) -> any I2CBus

      var testDescription: String { name }
    }

    @Test(arguments: supplyMonitors) func `our driver and the kernel's agree on a supply monitor`(
      _ candidate: SupplyMonitor
    ) throws {
      let supply = SimulatedSupply(amperes: 0.4321, swingAmperes: 0)
      let relay = try I2CRelay(model: candidate.twin(supply, KernelDriverTests.world(spin: 0, noiseScale: 0)))
      defer { relay.remove() }
      let chip = try #require(SupplyMonitorChip.all.first { $0.name == candidate.name })
      let driver = chip.driver(try KernelDriverTests.connection(relay, 0x40), PolledConfiguration(rateHz: 5))
      try driver.start()
      KernelDriverTests.pause(.milliseconds(300))
      let ours = try #require(try driver.read())
      driver.stop()
      let kernel = try KernelSensor(driver: candidate.name, bus: relay.path, address: 0x40)
      KernelDriverTests.pause(.milliseconds(300))
      // Both voltages are in millivolts: the first across the shunt, the second of the supply.
      #expect(abs(try #require(kernel.number("in_voltage0_scale")) / candidate.unitVolts / 1000 - 1) < 0.001)
      let counts = try #require(kernel.number("in_voltage0_raw")) - ours.shuntVolts / candidate.unitVolts
      let millivolts = try #require(kernel.scalar("in_voltage1")) - ours.volts * 1000
      Bench.saw(
        "\(candidate.name): \(counts) counts and \(millivolts) mV beside the kernel's ina2xx-adc, \(ours.volts) V, "
          + "\(ours.shuntVolts) V")
      #expect(abs(counts) <= 1.01 && abs(millivolts) <= 1.01)
      #expect(abs(ours.shuntVolts - 0.4321 * supply.shuntOhms) < 2 * candidate.unitVolts)
    }

    @Test(arguments: magnetometers) func `our driver and the kernel's agree on a magnetometer`(_ candidate: Candidate)
      throws
    {
      let world = KernelDriverTests.world(spin: 0, noiseScale: candidate.noiseScale)
      let relay = try I2CRelay(model: candidate.twin(world))
      defer { relay.remove() }
      let chip = try #require(MagnetometerChip.all.first { $0.name == candidate.name })
      let driver = chip.driver(
        try KernelDriverTests.connection(relay, candidate.address), PolledConfiguration(rateHz: 10))
      try driver.start()
      var sample: MagnetometerSample?
      for _ in 0..<100 where sample == nil {
        KernelDriverTests.pause(.milliseconds(110))
        sample = try driver.read()
      }
      let ours = SIMD3<Double>(try #require(sample).field)
      driver.stop()
      let kernel = try candidate.bind(to: relay)
      let theirs = try #require(kernel.vector("in_magn"))
      let unit = candidate.unitMicrotesla
      #expect(abs(theirs.scale * candidate.kernelMicrotesla / unit - 1) < 0.01)
      let order = candidate.kernelOrder
      let raw = SIMD3(theirs.raw[order.x], theirs.raw[order.y], theirs.raw[order.z])
      let counts = KernelDriverTests.largest(ours / unit - candidate.kernelAxes * raw)
      Bench.saw("\(candidate.name): \(counts) counts beside the kernel's \(candidate.kernelName), \(ours) uT")
      #expect(counts <= 1.01, "\(ours) and \(theirs)")
      let truth = world.truth(at: world.start).magneticField
      #expect(KernelDriverTests.largest((ours - truth) / unit) < 3)
    }

    static let barometers = [
      candidate("bmp280", "bmp280", 0x76, SimulatedBMP280.self),
      candidate("bme280", "bme280", 0x76, SimulatedBME280.self),
      candidate("bmp388", "bmp380", 0x76, SimulatedBMP388.self),
      candidate("bmp390", "bmp380", 0x77, SimulatedBMP390.self),
      // Its kernel driver adds the remainders of seven divisions, which overflows.
      candidate("dps310", "dps310", 0x77, SimulatedDPS310.self) { $0.kernelPascals = 7 },
      candidate("lps22hb", "lps22hb", 0x5C, SimulatedLPS22HB.self),
      Candidate(
        name: "ms5611", kernelName: "ms5611", address: 0x77,
        twin: { SimulatedMS5611(name: "twin", world: $0) { true } }),
    ]

    @Test(arguments: barometers) func `our driver and the kernel's agree on a barometer`(_ candidate: Candidate) throws
    {
      let world = KernelDriverTests.world(spin: 0, noiseScale: candidate.noiseScale)
      let relay = try I2CRelay(model: candidate.twin(world))
      defer { relay.remove() }
      let chip = try #require(BarometerChip.all.first { $0.name == candidate.name })
      let driver = chip.driver(
        try KernelDriverTests.connection(relay, candidate.address), PolledConfiguration(rateHz: 5))
      try driver.start()
      // A chip that measures on command returns the result at the next access.
      var sample: BarometerSample?
      for _ in 0..<10 {
        KernelDriverTests.pause(.milliseconds(200))
        sample = try driver.read() ?? sample
      }
      let ours = try #require(sample)
      driver.stop()
      let kernel = try candidate.bind(to: relay)
      // The units are kilopascals, thousandths of a degree Celsius, and thousandths of a percent.
      let pressure = try #require(kernel.scalar("in_pressure")) * 1000
      let temperature = try #require(kernel.scalar("in_temp")) / 1000
      Bench.saw(
        "\(candidate.name): \(ours.pressurePascals - pressure) Pa and \(ours.temperatureCelsius - temperature) degrees "
          + "beside the kernel's \(candidate.kernelName), \(pressure) Pa")
      #expect(abs(ours.pressurePascals - pressure) < candidate.kernelPascals)
      #expect(abs(ours.temperatureCelsius - temperature) < 0.02)
      if let humidity = ours.humidityPercent {
        #expect(abs(humidity - (try #require(kernel.scalar("in_humidityrelative"))) / 1000) < 0.1)
      }
      #expect(abs(ours.pressurePascals - world.truth(at: world.start).pressurePascals) < 3)
    }

    static let inertial = [
      candidate("lsm6dsox", "lsm6dsox", 0x6A, SimulatedLSM6DSOX.self, round),
      candidate("ism330dhcx", "ism330dhcx", 0x6B, SimulatedISM330DHCX.self, round),
      candidate("lsm6ds3tr-c", "lsm6ds3tr-c", 0x6A, SimulatedLSM6DS3TRC.self, round),
      candidate("lsm6ds3", "lsm6ds3", 0x6A, SimulatedLSM6DS3.self, round),
      // Its axes are left-handed too.
      candidate("lsm9ds1", "lsm9ds1-imu", 0x6B, SimulatedLSM9DS1.self) {
        round(&$0)
        $0.kernelAxes = SIMD3(1, 1, -1)
      },
      candidate("bmi160", "bmi160", 0x69, SimulatedBMI160.self),
      Candidate(
        name: "bmi088", kernelName: "bmi088_gyro", address: 0x68,
        twin: { world in
          SimulatedI2CBus(
            name: "twin",
            chips: [
              SimulatedBMI088Gyroscope(name: "twin", world: world) { true },
              SimulatedBMI088Accelerometer(name: "twin", world: world) { true },
            ])
        },
        unitGravities: 3.0 / 32768, companion: ("bmi088-accel", 0x18)),
      // The kernel starts with the fusion on, which has its own unit of 900 per radian per second.
      candidate("bno055", "bno055", 0x28, SimulatedBNO055.self) {
        $0.unitGravities = 0.01 / 9.80665
        $0.unitDegreesPerSecond = 180 / .pi / 900
      },
      candidate("icm-42688-p", "icm42688", 0x68, SimulatedICM42688.self) { $0.needsInterrupt = true },
      candidate("icm-42605", "icm42605", 0x68, SimulatedICM42605.self) { $0.needsInterrupt = true },
      mpu("mpu-6050", "mpu6050", .mpu6050), mpu("mpu-6500", "mpu6500", .mpu6500), mpu("mpu-9250", "mpu9250", .mpu9250),
      mpu("mpu-9255", "mpu9255", .mpu9255), mpu("mpu-6515", "mpu6515", .mpu6515),
      mpu("icm-20600", "icm20600", .icm20600), mpu("icm-20602", "icm20602", .icm20602),
      mpu("icm-20608", "icm20608", .icm20608), mpu("icm-20689", "icm20689", .icm20689),
      mpu("icm-20690", "icm20690", .icm20690), mpu("iam-20680", "iam20680", .iam20680),
    ]

    private static func round(_ candidate: inout Candidate) {
      candidate.unitGravities = 0.061e-3
      candidate.unitDegreesPerSecond = 8.75e-3
    }

    private static func mpu(
      _ name: String, _ kernelName: String, _ identity: SimulatedMPU6050.Identity
    ) -> Candidate {
      Candidate(
        name: name, kernelName: kernelName, address: 0x68,
        twin: { SimulatedMPU6050(name: "twin", world: $0, identity: identity) { true } })
    }

    @Test(arguments: inertial) func `our driver and the kernel's agree on an inertial sensor`(_ candidate: Candidate)
      throws
    {
      let world = KernelDriverTests.world(spin: 0.8, noiseScale: candidate.noiseScale)
      let relay = try I2CRelay(model: candidate.twin(world))
      defer { relay.remove() }
      let chip = try #require(InertialChip.all.first { $0.name == candidate.name })
      let configuration = InertialConfiguration(rateHz: 100, gyroscopeRange: .dps250, accelerometerRange: .g2)
      let driver = chip.driver(try KernelDriverTests.connection(relay, candidate.address), configuration)
      try driver.start()
      KernelDriverTests.pause(.milliseconds(200))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      try #require(batch.count > min(5, chip.fifoSampleCount))
      let ours = batch[batch.count - 1]
      driver.stop()
      let kernel = try candidate.bind(to: relay)
      let force = try #require(kernel.vector("in_accel"))
      let rates = try #require(kernel.vector("in_anglvel"))
      // The kernel may have selected another range, which is a multiple.
      let forceUnit = KernelDriverTests.nearest(candidate.unitGravities * 9.80665, to: force.scale)
      let rateUnit = KernelDriverTests.nearest(candidate.unitDegreesPerSecond * .pi / 180, to: rates.scale)
      #expect(abs(force.scale / forceUnit - 1) < 0.01 && abs(rates.scale / rateUnit - 1) < 0.01)
      let forceCounts = KernelDriverTests.largest(
        SIMD3<Double>(ours.accelerometer) / forceUnit - candidate.kernelAxes * force.raw)
      let rateCounts = KernelDriverTests.largest(
        SIMD3<Double>(ours.gyroscope) / rateUnit - candidate.kernelAxes * rates.raw)
      Bench.saw(
        "\(candidate.name): \(forceCounts) and \(rateCounts) counts beside the kernel's \(candidate.kernelName), "
          + "\(ours.accelerometer) m/s2, \(ours.gyroscope) rad/s")
      #expect(forceCounts <= 1.01 && rateCounts <= 1.01, "\(ours) \(force) \(rates)")
      let truth = world.truth(at: world.start)
      #expect(KernelDriverTests.largest((SIMD3<Double>(ours.gyroscope) - truth.rates) / rateUnit) < 3)
      #expect(KernelDriverTests.largest((SIMD3<Double>(ours.accelerometer) - truth.specificForce) / forceUnit) < 3)
    }

    /// A chip that is read through its kernel driver.
    struct Scanned: CustomTestStringConvertible, Sendable {
      let kernelName: String
      let address: UInt8
      let twin: @Sendable (World) -> any I2CBus
      /// The names of the kernel's devices: one, or one each for the gyroscope and the accelerometer.
      let names: [String]

      var testDescription: String { kernelName }

      var devices: [IIODeviceName] { names.map { IIODeviceName($0, address: address) } }

      func connection() -> ChipConnection {
        ChipConnection(bus: IIOBus("iio/\(kernelName)"), address: address, pause: { pause($0) })
      }
    }

    static let scanned = [
      Scanned(
        kernelName: "bmi160", address: 0x69,
        twin: { world in SimulatedBMI160(name: "twin", world: world) { true } }, names: ["bmi160"]),
      Scanned(
        kernelName: "lsm6dsox", address: 0x6A,
        twin: { world in SimulatedLSM6DSOX(name: "twin", world: world) { true } },
        names: ["lsm6dsox_accel", "lsm6dsox_gyro"]),
    ]

    /// A kernel timer triggers the measurements; the chip's interrupt line is not connected.
    @Test(arguments: scanned) func `an inertial sensor with a kernel driver is read through the kernel`(_ chip: Scanned)
      throws
    {
      let world = KernelDriverTests.world(spin: 0.8, noiseScale: 0)
      let relay = try I2CRelay(model: chip.twin(world))
      defer { relay.remove() }
      _ = try KernelSensor(driver: chip.kernelName, bus: relay.path, address: chip.address)
      let system = IIOSystem()
      let devices = try chip.devices.map { try IIODevice.find($0, in: system) }
      let settings = ["buffer/enable", "trigger/current_trigger", "current_timestamp_clock", "buffer/length"]
      func values() -> [String] {
        devices.flatMap { device in
          settings.map { name in
            (try? Files.bytes(of: "\(device.folder)/\(name)")).map { String(decoding: $0, as: UTF8.self) } ?? "-"
          }
        }
      }
      let before = values()
      let driver = InertialChip.iio(chip.devices).driver(chip.connection(), InertialConfiguration(rateHz: 100))
      try driver.start()
      var samples: [IMUSample] = []
      var batch = IMUBatch()
      for _ in 0..<20 {
        KernelDriverTests.pause(.milliseconds(50))
        try driver.read(into: &batch)
        samples += (0..<batch.count).map { batch[$0] }
      }
      let counters = driver.counters
      driver.stop()
      #expect((90...110).contains(samples.count), "\(samples.count)")
      let last = try #require(samples.last)
      let truth = world.truth(at: last.at)
      let (rates, force) = (SIMD3<Double>(last.gyroscope), SIMD3<Double>(last.accelerometer))
      #expect(KernelDriverTests.largest(rates - truth.rates) < 0.005, "\(rates) \(truth.rates)")
      #expect(KernelDriverTests.largest(force - truth.specificForce) < 0.01, "\(force) \(truth.specificForce)")
      let steps = zip(samples.dropFirst(), samples).map { ($0.at - $1.at).inSeconds }
      #expect(steps.allSatisfy { $0 > 0 })
      Bench.saw(
        "\(chip.kernelName): \(samples.count) samples in a second, \(steps.min() ?? 0) to \(steps.max() ?? 0) s apart, "
          + "\(counters.misreads) lost")
      // All settings are as before, and the timer is gone.
      #expect(values() == before)
      #expect(Files.names(in: "/sys/kernel/config/iio/triggers/hrtimer").isEmpty)
      // The same must work once more, as after a power cycle.
      try driver.start()
      KernelDriverTests.pause(.milliseconds(200))
      try driver.read(into: &batch)
      #expect(batch.count > 5)
      driver.stop()
    }

    @Test func `a hub reads a sensor through the kernel while a client needs it, and then releases it`() throws {
      let world = KernelDriverTests.world(spin: 0.8, noiseScale: 0)
      let relay = try I2CRelay(model: SimulatedBMI160(name: "twin", world: world) { true })
      defer { relay.remove() }
      _ = try KernelSensor(driver: "bmi160", bus: relay.path, address: 0x69)
      let device = try IIODevice.find(IIODeviceName("bmi160"), in: IIOSystem())
      func isScanning() -> Bool { (try? Files.bytes(of: "\(device.folder)/buffer/enable"))?.first == UInt8(ascii: "1") }
      let hub = HubProcess(
        board:
          "{ name: \"kernel\", devices: { imu: { driver: \"iio\", kind: \"imu\", name: \"bmi160\", rateHz: 100 } } }")
      #expect(!isScanning())
      for _ in 0..<2 {
        let subscriber = Subscriber(hub)
        let before = hub.devicesNow["imu"].counters["samples"] ?? 0
        #expect(eventually { hub.devicesNow["imu"].counters["samples"] ?? 0 > before + 100 })
        #expect(isScanning())
        subscriber.leave()
        #expect(eventually { hub.devicesNow["imu"].power == "asleep" && !isScanning() })
      }
      Bench.saw("\(hub.devicesNow["imu"].counters["samples"] ?? 0) samples in two visits")
      #expect(hub.stop() == 0)
    }

    @Test func `a magnetometer and a barometer with kernel drivers are read through the kernel`() throws {
      let world = KernelDriverTests.world(spin: 0, noiseScale: 0)
      let bus = SimulatedI2CBus(
        name: "twin",
        chips: [
          SimulatedLIS3MDL(name: "twin", world: world) { true },
          SimulatedBMP280(name: "twin", world: world) { true },
        ])
      let relay = try I2CRelay(model: bus)
      defer { relay.remove() }
      _ = try KernelSensor(driver: "lis3mdl", bus: relay.path, address: 0x1C)
      _ = try KernelSensor(driver: "bmp280", bus: relay.path, address: 0x76)
      let truth = world.truth(at: world.start)
      func read<Sample>(_ chip: Chip<any PolledDriver<Sample>, PolledConfiguration>) throws -> Sample {
        let driver = chip.driver(
          ChipConnection(bus: IIOBus("iio/test"), address: 0, pause: { KernelDriverTests.pause($0) }),
          PolledConfiguration(rateHz: 10))
        try driver.start()
        defer { driver.stop() }
        var sample: Sample?
        for _ in 0..<20 where sample == nil {
          KernelDriverTests.pause(.milliseconds(110))
          sample = try driver.read()
        }
        return try #require(sample)
      }
      let field = SIMD3<Double>(try read(MagnetometerChip.iio(IIODeviceName("lis3mdl"))).field)
      #expect(KernelDriverTests.largest(field - truth.magneticField) < 0.1, "\(field) \(truth.magneticField)")
      let pressure = try read(BarometerChip.iio(IIODeviceName("bmp280"))).pressurePascals
      #expect(abs(pressure - truth.pressurePascals) < 3, "\(pressure) \(truth.pressurePascals)")
      Bench.saw("lis3mdl through IIO \(field) uT, bmp280 \(pressure) Pa")
    }

    @Test func `the error for a chip with a kernel driver names the driver, and so does the error for its line`() throws
    {
      let world = KernelDriverTests.world(spin: 0, noiseScale: 0)
      let relay = try I2CRelay(model: SimulatedMPU6050(name: "twin", world: world) { true })
      defer { relay.remove() }
      _ = try KernelSensor(driver: "mpu6050", bus: relay.path, address: 0x68)
      let own = try #require(InertialChip.all.first { $0.name == "mpu-6050" }).driver(
        try KernelDriverTests.connection(relay, 0x68), InertialConfiguration(rateHz: 100))
      let busy = #expect(throws: HardwareError.self) { try own.start() }
      #expect(busy.map { "\($0)" }?.contains("mpu6050") ?? false, "\(String(describing: busy))")
      let scanned = InertialChip.iio([IIODeviceName("mpu6050")]).driver(
        ChipConnection(bus: IIOBus("iio/mpu6050"), address: 0x68, pause: { KernelDriverTests.pause($0) }),
        InertialConfiguration(rateHz: 100))
      let error = #expect(throws: HardwareError.self) { try scanned.start() }
      #expect(error.map { "\($0)" }?.contains("interrupt line") ?? false, "\(String(describing: error))")
      Bench.saw("\(busy.map { "\($0)" } ?? "") | \(error.map { "\($0)" } ?? "")")
    }
  }
}
