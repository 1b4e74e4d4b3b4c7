import Glibc

/// An error in reading or writing an MCAP file.
public enum MCAPError: Error, Equatable, Sendable {
  /// The file does not begin like an MCAP file of version 0.
  case notMCAP
  /// The record at this offset is incomplete because the file ends, or contains only zeros from there on.
  case cut(offset: UInt64)
  /// A part of the file violates the format. The offset is that of the record that contains the part.
  case malformed(String, offset: UInt64)
  /// The checksum of a part of the file is wrong, so the part has changed since it was written. The offset is that of
  /// the damaged record, sealed piece or summary; for the data section, it is the offset of the data end record.
  case wrongChecksum(String, offset: UInt64)
  /// A chunk has an unsupported compression, or its library is missing. The offset is that of the chunk.
  case compressed(String, offset: UInt64)
  /// The writer's compression requires a library that is not installed.
  case missingLibrary(String)
  /// A record, one of its fields, or the data needed in memory at the same time exceeds the limit, in bytes.
  case tooLarge(String, byteCount: UInt64, limit: UInt64)
  /// The schema or channel does not exist.
  case unknown(String, id: UInt16)
  /// All 65,535 numbers for schemas or channels are in use.
  case tooMany(String)
  /// The writer has already ended the file.
  case finished
  /// An error reported by the operating system.
  case system(String, errno: Int32)
}

extension MCAPError: CustomStringConvertible {
  public var description: String {
    guard let nextStep else { return summary }
    return "\(summary); \(nextStep)"
  }

  public var summary: String {
    switch self {
    case .notMCAP: "this is not an MCAP file"
    case .cut(let offset): "the file is cut off in the record at byte \(offset)"
    case .malformed(let what, let offset): "the \(what) at byte \(offset) is malformed"
    case .wrongChecksum(let what, let offset): "the checksum of the \(what) at byte \(offset) is wrong"
    case .compressed(let name, let offset): "the chunk at byte \(offset) is compressed with \(name)"
    case .missingLibrary(let name): "the library for \(name) compression is not installed"
    case .tooLarge(let what, let byteCount, let limit):
      "\(what): \(byteCount) bytes are more than the limit of \(limit)"
    case .unknown(let what, let id): "there is no \(what) \(id)"
    case .tooMany(let what): "there are already 65535 \(what), the maximum"
    case .finished: "the file has been finished"
    case .system(let what, let errno): "\(what): \(String(cString: strerror(errno)))"
    }
  }

  /// How to resolve the error, if known.
  public var nextStep: String? {
    switch self {
    case .cut: "repair it with: mcap recover"
    case .compressed(let name, _), .missingLibrary(let name):
      MCAPCompression.package(for: name).map { "install \($0)" } ?? "write it uncompressed: mcap decompress"
    case .notMCAP, .malformed, .wrongChecksum, .tooLarge, .unknown, .tooMany, .finished, .system: nil
    }
  }
}
