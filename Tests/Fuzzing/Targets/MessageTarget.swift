@testable import NMEA
@testable import Outputs
@testable import UBX

/// Messages of binary protocols with correct checksums, among other bytes.
///
/// One byte chooses the kind of the next piece, the following one its size: a message's payload in words, or bytes as
/// they are.
enum MessageTarget {
  private static let kinds: [UInt16] = [
    UBXKind.navPVT, UBXKind.navSOL, UBXKind.navPOSLLH, UBXKind.navSTATUS, UBXKind.navDOP, UBXKind.navVELNED,
    UBXKind.navHPPOSLLH, UBXKind.navTIMEGPS, UBXKind.navTIMEUTC, UBXKind.navSVINFO, UBXKind.navSAT, UBXKind.navCOV,
    UBXKind.navEOE, UBXKind.hnrPVT,
  ]
  private static let casicKinds: [UInt16] = [CASICKind.navPV, CASICKind.navTIMEUTC, CASICKind.navDOP]
  /// The kinds of messages about the receiver's state, from 20 on.
  private static let stateKinds: [UInt16] = [
    UBXKind.navSIG, UBXKind.monRF, UBXKind.monHW, UBXKind.secSIG, UBXKind.timTP, UBXKind.monVER, UBXKind.secUNIQID,
    UBXKind.esfSTATUS, UBXKind.rxmRAWX, UBXKind.rxmRTCM,
  ]
  private static let casicStateKinds: [UInt16] = [
    CASICKind.navGPSINFO, CASICKind.navBDSINFO, CASICKind.navGLNINFO, CASICKind.timTP,
  ]

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    var stream: [UInt8] = []
    var rest = input[...]
    while let choice = rest.popFirst(), let length = rest.popFirst() {
      let count = Int(length % 64) * 4
      let payload = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      let padded = payload + [UInt8](repeating: 0, count: count - payload.count)
      switch Int(choice) % 40 {
      case let index where index < kinds.count: stream += ubx(kinds[index], padded)
      case let index where index < kinds.count + casicKinds.count:
        stream += casic(casicKinds[index - kinds.count], padded)
      case let index where (20..<20 + stateKinds.count).contains(index):
        stream += ubx(stateKinds[index - 20], padded)
      case let index where (30..<30 + casicStateKinds.count).contains(index):
        stream += casic(casicStateKinds[index - 30], padded)
      default: stream += payload
      }
    }
    requireTheSame(stream)
    var decoder = GPSDDecoder()
    stream.withUnsafeBufferPointer { decoder.decode($0) }
    decoder.finish()
    decoder.takeOutput(requireJSONLines)
  }

  /// It makes no difference how reads cut a stream. Each stream is cut in one way, so that more streams are tried.
  private static func requireTheSame(_ stream: [UInt8]) {
    let whole = frames(stream, by: stream.count + 1)
    let size = [1, 7, 64][stream.count % 3]
    let cut = frames(stream, by: size)
    require(cut.frames == whole.frames, "cut by \(size), the stream has other frames")
    require(cut.messages == whole.messages, "cut by \(size), the stream has other counters")
  }

  private static func frames(_ stream: [UInt8], by size: Int) -> (frames: [[UInt8]], messages: BinaryFramer.Counters) {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .learned)
    var found: [[UInt8]] = []
    var json = JSONWriter(capacity: 1024)
    for start in stride(from: 0, to: stream.count, by: size) {
      stream[start..<min(start + size, stream.count)].withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(start)) { frame in
          switch frame {
          case .sentence(let raw):
            found.append(Array(raw.bytes))
            assembler.consume(raw) { GPSDReport.write($0, to: &json) }
          case .message(let message):
            found.append(Array(message.bytes))
            assembler.consume(message) { GPSDReport.write($0, to: &json) }
          }
        }
      }
    }
    requireJSONLines(json.bytes)
    return (found, framer.messages)
  }

  private static func ubx(_ kind: UInt16, _ payload: [UInt8]) -> [UInt8] {
    let count = UInt16(payload.count)
    let head = [0xB5, 0x62, UInt8(kind >> 8), UInt8(kind & 0xFF), UInt8(count & 0xFF), UInt8(count >> 8)]
    let frame = head + payload
    let sum = frame.withUnsafeBufferPointer { BinaryChecksum.fletcher($0[2...]) }
    return frame + [sum.0, sum.1]
  }

  private static func casic(_ kind: UInt16, _ payload: [UInt8]) -> [UInt8] {
    let count = UInt16(payload.count)
    let head = [0xBA, 0xCE, UInt8(count & 0xFF), UInt8(count >> 8), UInt8(kind >> 8), UInt8(kind & 0xFF)]
    let frame = head + payload
    let sum = frame.withUnsafeBufferPointer { BinaryChecksum.words(LittleEndianBytes($0), 6..<6 + payload.count) }
    return frame + (0..<4).map { UInt8(sum >> (8 * $0) & 0xFF) }
  }
}
