import HardwareIO
import MonotonicTime
import TestSupport
import Testing

struct IIOScanLayoutTests {
  private func channel(
    _ index: Int, _ type: String, _ conversion: IIOConversion = IIOConversion()
  ) throws(HardwareError) -> IIOChannel {
    IIOChannel(name: "in_\(index)", index: index, type: try IIOElementType(type), conversion: conversion)
  }

  private let time: Int64 = 1_234_567_890_123

  private func timestamp(_ index: Int, _ type: String = "le:s64/64>>0") throws(HardwareError) -> IIOChannel {
    IIOChannel(name: "in_timestamp", index: index, type: try IIOElementType(type))
  }

  @Test func `three axes of two bytes are padded before the time`() throws {
    let layout = try IIOScanLayout(
      [channel(0, "be:s16/16>>0"), channel(1, "be:s16/16>>0"), channel(2, "be:s16/16>>0")], timestamp: timestamp(3))
    #expect(layout.byteCount == 16)
    let bytes = joined(
      Int16(-1).bigEndianBytes, Int16(256).bigEndianBytes, Int16.min.bigEndianBytes, [0xEE, 0xEE],
      time.littleEndianBytes)
    let scan = bytes.withUnsafeBytes { layout.decode($0) }
    #expect([scan[0], scan[1], scan[2]] == [-1, 256, -32768])
    #expect(scan.at == MonotonicInstant(nanoseconds: time))
  }

  @Test func `each element is aligned to its own size`() throws {
    let layout = try IIOScanLayout(
      [channel(0, "le:u8/8>>0"), channel(1, "le:s24/32>>8"), channel(2, "be:s16/16>>0")],
      timestamp: timestamp(3, "be:s64/64>>0"))
    #expect(layout.byteCount == 24)
    let bytes = joined(
      [7, 0xEE, 0xEE, 0xEE], Int32(-1000 * 256 + 99).littleEndianBytes, Int16(-3).bigEndianBytes,
      [UInt8](repeating: 0xEE, count: 6), time.bigEndianBytes)
    let scan = bytes.withUnsafeBytes { layout.decode($0) }
    #expect([scan[0], scan[1], scan[2]] == [7, -1000, -3])
    #expect(scan.at == MonotonicInstant(nanoseconds: time))
  }

  @Test func `numbers are stored in the order of their indexes, whatever the requested order`() throws {
    // The scan has a gyroscope and an accelerometer, with the MPU-6050's temperature before them.
    let layout = try IIOScanLayout(
      [4, 5, 6, 1, 2, 3, 0].map { try channel($0, "be:s16/16>>0") }, timestamp: timestamp(7))
    #expect(layout.byteCount == 24)
    let numbers = (0...6).flatMap { Int16(10 * $0).bigEndianBytes }
    let scan = joined(numbers, [0xEE, 0xEE], time.littleEndianBytes).withUnsafeBytes { layout.decode($0) }
    #expect((0...6).map { scan[$0] } == [40, 50, 60, 10, 20, 30, 0])
    #expect(layout.vector(3, of: scan) == SIMD3(10, 20, 30))
  }

  @Test func `the time is the last element, whatever its index`() throws {
    let layout = try IIOScanLayout([channel(8, "le:s32/32>>0")], timestamp: timestamp(0))
    #expect(layout.byteCount == 16)
    let bytes = joined(Int32(-5).littleEndianBytes, [0, 0, 0, 0], time.littleEndianBytes)
    let scan = bytes.withUnsafeBytes { layout.decode($0) }
    #expect(scan[0] == -5 && scan.at == MonotonicInstant(nanoseconds: time))
  }

  @Test func `a scan's length is a multiple of its largest element`() throws {
    let layout = try IIOScanLayout([channel(0, "le:s64/64>>0")], timestamp: timestamp(1, "le:s32/32>>0"))
    #expect(layout.byteCount == 16)
  }

  @Test func `the offset is added before the scale is applied`() throws {
    let layout = try IIOScanLayout(
      [channel(0, "le:s16/16>>0", IIOConversion(scale: 2.941176, offset: 12421))], timestamp: timestamp(1))
    let bytes = joined(Int16(100).littleEndianBytes, [0, 0, 0, 0, 0, 0], time.littleEndianBytes)
    let scan = bytes.withUnsafeBytes { layout.decode($0) }
    #expect(abs(layout.value(0, of: scan) - 36826.464696) < 1e-6)
  }

  @Test func `a scan has at most sixteen channels`() throws {
    let channels = try (0...16).map { try channel($0, "le:s16/16>>0") }
    #expect(try IIOScanLayout(Array(channels[..<16]), timestamp: timestamp(17)).byteCount == 40)
    #expect(throws: HardwareError.unsupported("a scan of 17 channels cannot be read")) {
      try IIOScanLayout(channels, timestamp: timestamp(17))
    }
  }
}
