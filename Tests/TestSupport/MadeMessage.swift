/// Messages of binary protocols with correct checksums, which are computed without the tested code.
public enum MadeMessage {
  /// Makes a u-blox message.
  public static func ubx(_ kind: UInt16, _ payload: [UInt8]) -> [UInt8] {
    let count = UInt16(payload.count)
    let body = [UInt8(kind >> 8), UInt8(kind & 0xFF), UInt8(count & 0xFF), UInt8(count >> 8)] + payload
    var (a, b): (UInt8, UInt8) = (0, 0)
    for byte in body {
      a &+= byte
      b &+= a
    }
    return [0xB5, 0x62] + body + [a, b]
  }

  /// Makes a CASIC message.
  ///
  /// - Precondition: the length of the payload is a multiple of four bytes
  public static func casic(_ kind: UInt16, _ payload: [UInt8]) -> [UInt8] {
    var sum = UInt32(kind & 0xFF) << 24 &+ UInt32(kind >> 8) << 16 &+ UInt32(payload.count)
    for start in stride(from: 0, to: payload.count, by: 4) {
      for index in 0..<4 { sum &+= UInt32(payload[start + index]) << UInt32(8 * index) }
    }
    return [0xBA, 0xCE, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8), UInt8(kind >> 8), UInt8(kind & 0xFF)]
      + payload + littleEndian(sum)
  }

  /// Makes an RTCM 10403 message, with its checksum by long division.
  public static func rtcm3(_ payload: [UInt8]) -> [UInt8] {
    let frame = [0xD3, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
    var remainder: UInt32 = 0
    for bit in 0..<(frame.count + 3) * 8 {
      let byte = bit / 8 < frame.count ? frame[bit / 8] : 0
      remainder = remainder << 1 | UInt32(byte >> UInt8(7 - bit % 8) & 1)
      if remainder & 0x100_0000 != 0 { remainder ^= 0x186_4CFB }
    }
    return frame + [UInt8(remainder >> 16 & 0xFF), UInt8(remainder >> 8 & 0xFF), UInt8(remainder & 0xFF)]
  }

  /// Makes a correction message: RTCM's message number, followed by `byteCount` arbitrary bytes.
  public static func correction(_ number: UInt16, byteCount: Int = 20) -> [UInt8] {
    rtcm3([UInt8(number >> 4), UInt8(number & 0xF) << 4] + (0..<byteCount).map { UInt8($0 & 0xFF) })
  }

  public static func littleEndian(_ value: some FixedWidthInteger & BitwiseCopyable) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  /// Makes a NAV-PVT of 92 bytes with a three-dimensional fix.
  public static func navPVT(
    timeOfWeekMilliseconds: UInt32, latitudeDegrees: Double, longitudeDegrees: Double, second: UInt8
  ) -> [UInt8] {
    var payload = [UInt8](repeating: 0, count: 92)
    func put(_ value: some FixedWidthInteger & BitwiseCopyable, at offset: Int) {
      payload.replaceSubrange(offset..<offset + MemoryLayout.size(ofValue: value), with: littleEndian(value))
    }
    put(timeOfWeekMilliseconds, at: 0)
    put(UInt16(2026), at: 4)
    for (index, value) in [11, 23, 12, 0, second, 7].enumerated() { payload[6 + index] = value }
    payload[20] = 3
    payload[21] = 1
    payload[23] = 11
    put(Int32((longitudeDegrees * 1e7).rounded()), at: 24)
    put(Int32((latitudeDegrees * 1e7).rounded()), at: 28)
    put(Int32(80_000), at: 32)
    put(Int32(40_000), at: 36)
    put(UInt32(1500), at: 40)
    put(UInt32(2500), at: 44)
    put(Int32(3000), at: 48)
    put(Int32(4000), at: 52)
    put(Int32(-500), at: 56)
    put(Int32(5000), at: 60)
    put(Int32(5_313_010), at: 64)
    put(UInt32(120), at: 68)
    put(UInt16(150), at: 76)
    return ubx(0x0107, payload)
  }
}
