import Glibc

/// What goes wrong with an MCAP file, in the terms of whoever has to do something about it.
public enum MCAPError: Error, Equatable, Sendable {
  /// It does not begin as an MCAP file of version 0 does.
  case notMCAP
  /// It ends, or is empty from there on, before the record that begins at this offset is whole.
  case cut(offset: UInt64)
  /// A part of it contradicts the format; the offset is that of the record.
  case malformed(String, offset: UInt64)
  /// A part of it is not what was written; the offset is that of the record.
  case wrongChecksum(String, offset: UInt64)
  /// A chunk is compressed in a way that is not read here, for want of a library perhaps; the offset is that of the chunk.
  case compressed(String, offset: UInt64)
  /// What is to be written cannot be compressed in this way: the library is not on this machine.
  case missingLibrary(String)
  /// A part of it, or what would have to be in memory at once, is larger than allowed.
  case tooLarge(String, byteCount: UInt64, limit: UInt64)
  /// There is no such schema or channel.
  case unknown(String, id: UInt16)
  /// All 65535 numbers for schemas or channels are given away.
  case tooMany(String)
  /// The writer has ended the file already.
  case finished
  /// What the system reports.
  case system(String, errno: Int32)
}

extension MCAPError: CustomStringConvertible {
  public var description: String {
    guard let nextStep else { return summary }
    return "\(summary); \(nextStep)"
  }

  public var summary: String {
    switch self {
    case .notMCAP: "this is no MCAP file"
    case .cut(let offset): "the file is cut off in the record at byte \(offset)"
    case .malformed(let what, let offset): "the \(what) at byte \(offset) is malformed"
    case .wrongChecksum(let what, let offset): "the checksum of the \(what) at byte \(offset) is wrong"
    case .compressed(let name, let offset): "the chunk at byte \(offset) is compressed with \(name)"
    case .missingLibrary(let name): "the library that compresses with \(name) is not there"
    case .tooLarge(let what, let byteCount, let limit):
      "\(what): \(byteCount) bytes, and no more than \(limit) are allowed"
    case .unknown(let what, let id): "there is no \(what) \(id)"
    case .tooMany(let what): "there are 65535 \(what) already"
    case .finished: "the file has been finished"
    case .system(let what, let errno): "\(what): \(String(cString: strerror(errno)))"
    }
  }

  /// What to do about it, where that is known.
  public var nextStep: String? {
    switch self {
    case .cut: "repair it"
    case .compressed(let name, _), .missingLibrary(let name):
      MCAPCompression.package(for: name).map { "install \($0)" } ?? "write it again uncompressed: mcap decompress"
    case .notMCAP, .malformed, .wrongChecksum, .tooLarge, .unknown, .tooMany, .finished, .system: nil
    }
  }
}
