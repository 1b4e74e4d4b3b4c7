/// The protocol of a message and its length, as its first bytes claim them.
struct BinaryFrameHead {
  enum Reading {
    /// The bytes are not a message.
    case none
    /// More bytes are needed to decide.
    case incomplete
    case head(BinaryFrameHead)
  }

  /// The longest payload, in bytes. It is the payload of raw measurements: 16 bytes, and 32 for each of 255 signals.
  private static let longestPayload = 16 + 32 * 255
  static let longestFrame = longestPayload + 10

  // Noise that looks like the beginning of a long message delays the bytes after it until the claimed end of that
  // message. The limits below make such noise rare.

  /// The message classes of UBX: NAV, RXM, INF, ACK, CFG, UPD, MON, AID, TIM, ESF, MGA, LOG, SEC, HNR, NAV2.
  private static let ubxClasses: Set<UInt8> = [
    0x01, 0x02, 0x04, 0x05, 0x06, 0x09, 0x0A, 0x0B, 0x0D, 0x10, 0x13, 0x21, 0x27, 0x28, 0x29,
  ]
  /// The UBX classes that carry texts or files, which may contain other messages: INF, UPD, MGA, LOG.
  private static let carryingClasses: Set<UInt8> = [0x04, 0x09, 0x13, 0x21]
  /// The longest payload of these classes, in bytes. It is the payload of MGA-FLASH-DATA: 6 bytes, and up to 512 of
  /// data.
  private static let longestCarrier = 6 + 512
  /// The message classes of CASIC: NAV, TIM, RXM, ACK, CFG, MSG, MON, AID.
  private static let casicClasses: Set<UInt8> = [0x01, 0x02, 0x03, 0x05, 0x06, 0x08, 0x0A, 0x0B]

  let format: BinaryFrame.Format
  let payload: Range<Int>
  /// The length of the whole message.
  let byteCount: Int
  /// Whether the framer searches for a complete frame inside the message, which proves that the message's length is
  /// wrong. It does so if the message is longer than `FrameWitness.longest` and its class carries no texts or files:
  /// such a message contains no other messages, and a bit error in its length would delay many bytes. The proof counts
  /// even if the message's own checksum is right, so that the result does not depend on how reads divide the bytes. The
  /// framer waits for the claimed end of all other messages.
  let isDoubtful: Bool

  /// The position of the next byte that may begin a message, or the end if there is none.
  @inline(__always)
  static func firstCandidate(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    let count = bytes.count
    var index = start
    // Sentences are ASCII, so a word of sentence characters has no high bit.
    while index &+ 8 <= count {
      let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
      if word & 0x8080_8080_8080_8080 != 0 { break }
      index &+= 8
    }
    while index < count {
      let byte = base[index]
      if byte == 0xB5 || byte == 0xBA || byte == 0xD3 { return index }
      index &+= 1
      if byte & 0x80 != 0 { continue }
      while index &+ 8 <= count {
        let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
        if word & 0x8080_8080_8080_8080 != 0 { break }
        index &+= 8
      }
    }
    return count
  }

  static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Reading {
    switch bytes[0] {
    case 0xB5: ubx(bytes)
    case 0xBA: casic(bytes)
    case 0xD3: rtcm3(bytes)
    default: .none
    }
  }

  private static func ubx(_ bytes: UnsafeBufferPointer<UInt8>) -> Reading {
    if bytes.count > 1, bytes[1] != 0x62 { return .none }
    guard bytes.count >= 6 else { return .incomplete }
    guard ubxClasses.contains(bytes[2]) else { return .none }
    let length = Int(bytes[4]) | Int(bytes[5]) << 8
    guard MessageLength.isPossible(ubx: UInt16(bytes[2]) << 8 | UInt16(bytes[3]), length) else { return .none }
    return head(.ubx, length: length, before: 6, behind: 2, carriesMessages: carryingClasses.contains(bytes[2]))
  }

  private static func casic(_ bytes: UnsafeBufferPointer<UInt8>) -> Reading {
    if bytes.count > 1, bytes[1] != 0xCE { return .none }
    guard bytes.count >= 6 else { return .incomplete }
    guard casicClasses.contains(bytes[4]) else { return .none }
    let length = Int(bytes[2]) | Int(bytes[3]) << 8
    // The checksum is computed in words.
    guard length % 4 == 0, MessageLength.isPossible(casic: UInt16(bytes[4]) << 8 | UInt16(bytes[5]), length) else {
      return .none
    }
    return head(.casic, length: length, before: 6, behind: 4)
  }

  private static func rtcm3(_ bytes: UnsafeBufferPointer<UInt8>) -> Reading {
    if bytes.count > 1, bytes[1] & 0xFC != 0 { return .none }
    guard bytes.count >= 5 else { return .incomplete }
    let length = Int(bytes[1]) << 8 | Int(bytes[2])
    let number = UInt16(bytes[3]) << 4 | UInt16(bytes[4]) >> 4
    guard length >= 2, (1001...1304).contains(number) || number >= 4001 else { return .none }
    return head(.rtcm3, length: length, before: 3, behind: 3)
  }

  private static func head(
    _ format: BinaryFrame.Format, length: Int, before: Int, behind: Int, carriesMessages: Bool = false
  ) -> Reading {
    guard length <= (carriesMessages ? longestCarrier : longestPayload) else { return .none }
    let byteCount = before + length + behind
    return .head(
      BinaryFrameHead(
        format: format, payload: before..<before + length, byteCount: byteCount,
        isDoubtful: byteCount > FrameWitness.longest && !carriesMessages))
  }

  func kind(of frame: UnsafeBufferPointer<UInt8>) -> UInt16 {
    switch format {
    case .ubx: UInt16(frame[2]) << 8 | UInt16(frame[3])
    case .casic: UInt16(frame[4]) << 8 | UInt16(frame[5])
    case .rtcm3: UInt16(frame[3]) << 4 | UInt16(frame[4]) >> 4
    }
  }

  /// Whether the checksum of a complete message is right.
  func isWhole(_ frame: UnsafeBufferPointer<UInt8>) -> Bool {
    switch format {
    case .ubx:
      let sum = BinaryChecksum.fletcher(frame[2..<payload.upperBound])
      return sum.0 == frame[byteCount - 2] && sum.1 == frame[byteCount - 1]
    case .casic:
      let bytes = LittleEndianBytes(frame)
      return BinaryChecksum.words(bytes, payload) == bytes.uint32(byteCount - 4)
    case .rtcm3:
      let crc = BinaryChecksum.crc24q(frame[..<payload.upperBound])
      return UInt8(crc >> 16) == frame[byteCount - 3] && UInt8(crc >> 8 & 0xFF) == frame[byteCount - 2]
        && UInt8(crc & 0xFF) == frame[byteCount - 1]
    }
  }
}

/// The checksums of the binary protocols.
enum BinaryChecksum {
  /// RFC 1145's checksum in 8 bits: the sum of the bytes, and the sum of these sums.
  @inline(__always)
  static func fletcher(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> (UInt8, UInt8) {
    // The sums use wider integers. Only their last 8 bits count, so an overflow does not matter.
    var a: UInt32 = 0
    var b: UInt32 = 0
    for byte in UnsafeBufferPointer(rebasing: bytes) {
      a &+= UInt32(byte)
      b &+= a
    }
    return (UInt8(truncatingIfNeeded: a), UInt8(truncatingIfNeeded: b))
  }

  /// CASIC's checksum: the sum of identifier, class and length as one word, and the payload's words.
  static func words(_ frame: LittleEndianBytes, _ payload: Range<Int>) -> UInt32 {
    var sum = UInt32(frame.uint8(5)) << 24 &+ UInt32(frame.uint8(4)) << 16 &+ UInt32(payload.count)
    for offset in stride(from: payload.lowerBound, to: payload.upperBound, by: 4) { sum &+= frame.uint32(offset) }
    return sum
  }

  /// RTCM 10403's checksum: 24 bits, polynomial 1864CFB.
  static func crc24q(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> UInt32 {
    var crc: UInt32 = 0
    for byte in UnsafeBufferPointer(rebasing: bytes) {
      crc ^= UInt32(byte) << 16
      for _ in 0..<8 {
        crc <<= 1
        if crc & 0x100_0000 != 0 { crc ^= 0x186_4CFB }
      }
    }
    return crc & 0xFF_FFFF
  }
}

/// The possible lengths of messages by kind. Any other length is a bit error, and the framer does not wait for such a
/// message. A kind that is not listed may have any length.
///
/// The lengths are from the interface descriptions of protocols 13 to 34. Older protocols have shorter messages, and an
/// empty message is a request.
enum MessageLength {
  static func isPossible(ubx kind: UInt16, _ length: Int) -> Bool {
    switch kind {
    case UBXKind.navSAT, UBXKind.navSVINFO: isList(length, of: 12, behind: 8)
    case UBXKind.navSIG: isList(length, of: 16, behind: 8)
    case UBXKind.rxmRAWX: isList(length, of: 32, behind: 16)
    case UBXKind.rxmSFRBX, UBXKind.esfMEAS: isList(length, of: 4, behind: 8)
    case UBXKind.esfSTATUS: isList(length, of: 4, behind: 16)
    case UBXKind.monVER: isList(length, of: 30, behind: 40)
    case UBXKind.monRF: isList(length, of: 24, behind: 4)
    default: longest(ubx: kind).map { length <= $0 } ?? true
    }
  }

  static func isPossible(casic kind: UInt16, _ length: Int) -> Bool {
    switch kind {
    case CASICKind.navPV, CASICKind.navSTATUS: length <= 80
    case CASICKind.navTIMEUTC: length <= 24
    case CASICKind.navDOP: length <= 28
    case CASICKind.timTP: length <= 24
    case CASICKind.navGPSINFO, CASICKind.navBDSINFO, CASICKind.navGLNINFO: isList(length, of: 12, behind: 8)
    default: true
    }
  }

  private static func isList(_ length: Int, of size: Int, behind head: Int) -> Bool {
    length == 0 || length >= head && (length - head) % size == 0
  }

  private static func longest(ubx kind: UInt16) -> Int? {
    switch kind {
    case UBXKind.navEOE: 4
    case UBXKind.rxmRTCM: 8
    case UBXKind.navTIMEGPS, UBXKind.navSTATUS, UBXKind.timTP: 16
    case UBXKind.navDOP: 18
    case UBXKind.navTIMEUTC: 20
    case UBXKind.navPOSLLH: 28
    case UBXKind.navHPPOSLLH, UBXKind.navVELNED, UBXKind.esfINS: 36
    case UBXKind.navSOL: 52
    case UBXKind.navCOV: 64
    case UBXKind.monHW: 68
    case UBXKind.hnrPVT: 72
    case UBXKind.navPVT: 92
    default: nil
    }
  }
}
