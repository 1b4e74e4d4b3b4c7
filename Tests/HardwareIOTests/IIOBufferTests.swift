import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

struct IIOBufferTests {
  static let rates = ["in_anglvel_x", "in_anglvel_y", "in_anglvel_z"]

  let tree = IIOTree()
  let pipe: IIOPipe

  /// A sensor with a temperature that another program has selected.
  init() {
    tree.addDevice(0, "mpu6050")
    var channels = [("in_temp", "be:s16/16>>0")]
    for name in IIOBufferTests.rates { channels.append((name, "be:s16/16>>0")) }
    channels.append(("in_q", "le:s16/16X4>>0"))
    pipe = tree.addScans(0, channels)
    tree.add("sys/bus/iio/devices/iio:device0/scan_elements/in_temp_en", "1")
  }

  private func open(
    length: Int = 128, watermark: Int = 8, timer: IIOTimerTrigger? = nil
  ) throws(HardwareError) -> IIOBuffer {
    let device = try IIODevice.find(IIODeviceName("mpu6050"), in: tree.system)
    var channels: [IIOChannel] = []
    for name in IIOBufferTests.rates {
      if let channel = try device.channel(name) { channels.append(channel) }
    }
    return try IIOBuffer(device, channels: channels, length: length, watermark: watermark, timer: timer)
  }

  private func openWithTimer() throws -> IIOBuffer {
    try open(timer: try IIOTimerTrigger("sensorhub-0", hertz: 100, in: tree.system) { _ in })
  }

  private func scan(_ x: Int16, _ y: Int16, _ z: Int16, at nanoseconds: Int64) -> [UInt8] {
    joined(x.bigEndianBytes, y.bigEndianBytes, z.bigEndianBytes, [0xEE, 0xEE], nanoseconds.littleEndianBytes)
  }

  /// The steps of the set-up, with a chip's own trigger.
  static let setUp = [
    "open dev/iio:device0",
    "iio:device0/current_timestamp_clock = monotonic",
    "iio:device0/scan_elements/in_temp_en = 0",
    "iio:device0/scan_elements/in_anglvel_x_en = 1",
    "iio:device0/scan_elements/in_anglvel_y_en = 1",
    "iio:device0/scan_elements/in_anglvel_z_en = 1",
    "iio:device0/scan_elements/in_timestamp_en = 1",
    "iio:device0/buffer/length = 128",
    "iio:device0/buffer/watermark = 8",
    "iio:device0/trigger/current_trigger = mpu6050-dev0",
    "iio:device0/buffer/enable = 1",
  ]

  static let tidyUp = [
    "iio:device0/buffer/enable = 0",
    "iio:device0/trigger/current_trigger = ",
    "iio:device0/buffer/watermark = 1",
    "iio:device0/buffer/length = 2",
    "iio:device0/scan_elements/in_timestamp_en = 0",
    "iio:device0/scan_elements/in_anglvel_z_en = 0",
    "iio:device0/scan_elements/in_anglvel_y_en = 0",
    "iio:device0/scan_elements/in_anglvel_x_en = 0",
    "iio:device0/scan_elements/in_temp_en = 1",
    "iio:device0/current_timestamp_clock = realtime",
  ]

  @Test func `a buffer is set up in a fixed order, and restored in the opposite order`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    let before = tree.settings(0)
    let buffer = try open()
    #expect(tree.journal == IIOBufferTests.setUp)
    #expect(tree.readers(0) == 1)
    tree.forgetJournal()
    buffer.close()
    buffer.close()
    #expect(tree.journal == IIOBufferTests.tidyUp)
    #expect(tree.settings(0) == before)
    #expect(tree.readers(0) == 0 && buffer.fileDescriptor == -1)
  }

  @Test func `a buffer is closed with its last reference`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    let before = tree.settings(0)
    do {
      let buffer = try open()
      #expect(buffer.layout.byteCount == 16 && tree.says("iio:device0/buffer/enable") == "1")
    }
    #expect(tree.settings(0) == before && tree.readers(0) == 0)
  }

  @Test(arguments: setUp.dropFirst())
  func `after any refusal all settings are restored, and a later attempt can succeed`(_ entry: String) throws {
    tree.addTrigger(0, "mpu6050-dev0")
    let before = tree.settings(0)
    tree.refuse(entry, .noPermission("that file", group: "i2c"))
    #expect(throws: HardwareError.noPermission("that file", group: "i2c")) { try open() }
    #expect(tree.settings(0) == before)
    #expect(tree.readers(0) == 0)
    // No step after the refused one was tried.
    let done = try #require(IIOBufferTests.setUp.firstIndex(of: entry))
    #expect(Array(tree.journal.prefix(done)) == Array(IIOBufferTests.setUp.prefix(done)))
    #expect(!tree.journal.contains("iio:device0/buffer/enable = 1"))
    tree.refuseNothing()
    let buffer = try open()
    #expect(tree.says("iio:device0/buffer/enable") == "1")
    buffer.close()
  }

  @Test func `the program that already uses the device is named`() throws {
    tree.refuse("open dev/iio:device0", .inUse("the node", holder: nil))
    func refusal() -> HardwareError? {
      do throws(HardwareError) {
        try open().close()
        return nil
      } catch {
        return error
      }
    }
    // The test's own pipe holds the device. A program that another test is starting has a copy of it until its exec.
    #expect(eventually { refusal() == .inUse("IIO device 'mpu6050' at 0x68", holder: "this process") })
    #expect(tree.journal == [])
  }

  @Test func `a buffer that a killed program enabled is stopped first`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    tree.add("sys/bus/iio/devices/iio:device0/buffer/enable", "1")
    pipe.write([1, 2, 3, 4, 5])
    let buffer = try open()
    #expect(
      Array(tree.journal.prefix(3)) == [
        "open dev/iio:device0", "iio:device0/buffer/enable = 0", "iio:device0/current_timestamp_clock = monotonic",
      ])
    // The old measurements are not delivered.
    pipe.write(scan(1, 2, 3, at: 4))
    var scans = 0
    try buffer.read(atMost: 9) { scan in
      scans += 1
      #expect(scan[0] == 1)
    }
    #expect(scans == 1)
    buffer.close()
    #expect(tree.says("iio:device0/buffer/enable") == "0")
  }

  @Test func `a kernel that refuses the monotonic clock is reported`() {
    tree.refuse("iio:device0/current_timestamp_clock = monotonic", .system("writing", errno: EINVAL))
    #expect(
      throws: HardwareError.system(
        "switching the timestamps of IIO device 'mpu6050' at 0x68 to the monotonic clock", errno: EINVAL)
    ) { try open() }
  }

  @Test func `a kernel that cannot set the clock of a sensor's timestamps is reported`() {
    tree.refuse("iio:device0/current_timestamp_clock = monotonic", .notFound("the file"))
    #expect(
      throws: HardwareError.unsupported(
        "the kernel does not report the clock of the timestamps of IIO device 'mpu6050' at 0x68")
    ) { try open() }
  }

  @Test func `a device without a time in its scans is refused before any setting changes`() {
    unlink("\(tree.root)/sys/bus/iio/devices/iio:device0/scan_elements/in_timestamp_en")
    #expect(throws: HardwareError.unsupported("IIO device 'mpu6050' at 0x68 has no timestamp channel")) {
      try open()
    }
    #expect(tree.journal == [])
  }

  @Test func `an old kernel without a watermark is accepted`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    unlink("\(tree.root)/sys/bus/iio/devices/iio:device0/buffer/watermark")
    let buffer = try open()
    #expect(tree.journal == IIOBufferTests.setUp.filter { !$0.contains("watermark") })
    buffer.close()
  }

  @Test func `the other name of a chip's own trigger is recognised, and a trigger that is already set stays`() throws {
    tree.addTrigger(3, "mpu6050-trigger")
    tree.add("sys/bus/iio/devices/iio:device0/trigger/current_trigger", "mpu6050-trigger")
    let buffer = try open()
    #expect(!buffer.device.needsTimer)
    buffer.close()
    #expect(tree.says("iio:device0/trigger/current_trigger") == "mpu6050-trigger")
    #expect(!tree.journal.contains { $0.contains("current_trigger") })
  }

  @Test(
    arguments: [
      // The triggers are of another device, of another chip, and of another interrupt of the chip.
      ("mpu6050-dev1", "i2c-1/1-0068"), ("mpu6050-dev0", "i2c-1/1-0069"), ("mpu6050-any-motion-dev0", "i2c-1/1-0068"),
    ])
  func `another chip's trigger is not used`(_ name: String, _ chip: String) throws {
    tree.addTrigger(0, name, chip: chip)
    #expect(try IIODevice.find(IIODeviceName("mpu6050"), in: tree.system).needsTimer)
    #expect(throws: HardwareError.unsupported("IIO device 'mpu6050' at 0x68 needs a trigger")) { try open() }
  }

  @Test func `a chip with its own FIFO needs no trigger`() throws {
    IIOBufferTests.removeTriggers(tree)
    let buffer = try open()
    #expect(!buffer.device.needsTimer)
    #expect(tree.journal == IIOBufferTests.setUp.filter { !$0.contains("trigger") })
    buffer.close()
  }

  private static func removeTriggers(_ tree: IIOTree) {
    let folder = "\(tree.root)/sys/bus/iio/devices/iio:device0/trigger"
    unlink("\(folder)/current_trigger")
    rmdir(folder)
  }

  @Test func `a timer triggers a chip without an interrupt line, and is removed after use`() throws {
    let before = tree.settings(0)
    var buffer: IIOBuffer? = try openWithTimer()
    #expect(tree.says("iio:device0/trigger/current_trigger") == "sensorhub-0")
    #expect(tree.timers == ["sensorhub-0"])
    buffer?.close()
    #expect(tree.settings(0) == before)
    // Only the buffer keeps the timer.
    #expect(tree.timers == ["sensorhub-0"])
    tree.forgetJournal()
    buffer = nil
    #expect(tree.timers == [] && tree.journal == ["remove config/iio/triggers/hrtimer/sensorhub-0"])
  }

  @Test func `a timer that a killed hub left as the trigger is not restored`() throws {
    tree.add("sys/bus/iio/devices/iio:device0/trigger/current_trigger", "sensorhub-0")
    let buffer = try openWithTimer()
    buffer.close()
    #expect(tree.says("iio:device0/trigger/current_trigger") == "")
  }

  @Test func `a kernel driver that accepts no timer as trigger is reported`() {
    tree.refuse("iio:device0/trigger/current_trigger = sensorhub-0", .system("writing", errno: EINVAL))
    #expect {
      try openWithTimer()
    } throws: {
      "\($0)"
        == "the kernel's driver of IIO device 'mpu6050' at 0x68 does not accept a timer as trigger: it needs the "
        + "chip's interrupt line"
    }
    #expect(tree.timers == [])
  }

  @Test func `scans are read with their times, oldest first, up to the requested number`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    let buffer = try open()
    let stop = StopSignal()
    let poller = Poller(stop: stop.fileDescriptor)
    #expect(poller.wait(for: buffer.fileDescriptor, atMost: .zero) == .timedOut)
    var numbers: [Int64] = []
    var times: [Int64] = []
    func read(_ limit: Int) throws {
      try buffer.read(atMost: limit) { scan in
        numbers.append(scan[2])
        times.append(scan.at.nanoseconds)
      }
    }
    try read(10)
    #expect(numbers == [])
    for index in 0..<40 { pipe.write(scan(0, 1, -Int16(index), at: 1000 + Int64(index))) }
    #expect(poller.wait(for: buffer.fileDescriptor) == .readable)
    try read(35)
    #expect(numbers == (0..<35).map { (number: Int64) in -number })
    #expect(times == Array(1000..<1035))
    try read(35)
    #expect(numbers.count == 40 && numbers.last == -39)
    buffer.close()
    #expect(throws: HardwareError.disconnected("IIO device 'mpu6050' at 0x68")) { try read(1) }
  }

  @Test func `complete scans are read unchanged into the caller's buffer`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    let buffer = try open()
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 40, alignment: 8)
    defer { room.deallocate() }
    #expect(try buffer.read(into: room) == 0)
    for index in 0..<3 { pipe.write(scan(Int16(index), 0, 0, at: 5)) }
    #expect(try buffer.read(into: room) == 32)
    #expect(room[..<16].elementsEqual(scan(0, 0, 0, at: 5)))
    #expect(try buffer.read(into: room) == 16)
    buffer.close()
  }

  @Test func `scans of an unexpected length are refused`() throws {
    tree.addTrigger(0, "mpu6050-dev0")
    let buffer = try open()
    pipe.write(scan(1, 2, 3, at: 4) + [5])
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the length of the scans of IIO device 'mpu6050' at 0x68 does not match the types of their elements")
    ) { try buffer.read(atMost: 10) { _ in } }
    buffer.close()
  }
}
