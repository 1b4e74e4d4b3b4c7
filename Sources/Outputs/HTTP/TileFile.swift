import CLinux
import Glibc
import HTTPTypes
import HardwareIO
import Hummingbird
import NIOCore

/// A map in one file, in version 3 of PMTiles. The page requests ranges of bytes, and reads the map's directories and
/// tiles itself.
///
/// The file is opened for each range, so that a new map takes effect without a restart. Like every file that the hub
/// opens in other users' folders, it must be a regular file and no link. It must also begin as a PMTiles map does, so
/// that a board file cannot make any other file readable over HTTP.
struct TileFile: Sendable {
  /// The longest range in bytes. A tile has some ten thousand bytes, a directory at most a hundred thousand.
  static let longestRange: UInt64 = 1 << 20
  /// The longest part of a range in memory for one client, in bytes. A slow client must not keep a whole range in
  /// memory.
  static let longestPiece: UInt64 = 32 << 10
  private static let beginning = Array("PMTiles\u{3}".utf8)

  let path: String

  /// A part of a range, for one client.
  struct Piece: Sendable {
    /// The first bytes of the range.
    var bytes: [UInt8]
    /// The range that the client receives, of which `bytes` is the beginning.
    var range: Range<UInt64>
    var size: UInt64
    var tag: String
  }

  enum Failure: Error {
    case unreadable(String)
    /// The file has changed since the client read its directories.
    case changed
    case outside(size: UInt64)
  }

  func response(to request: Request, on threads: ReadingThreads) async throws -> Response {
    let field = request.headers[.range]
    let isSame = request.headers[.ifRange] == nil
    guard isSame, let range = field.flatMap(ByteRange.init) else {
      throw HTTPError(
        .badRequest,
        message: "a map is served by range: send the request with 'Range: bytes=0-16383', for "
          + "at most \(TileFile.longestRange) bytes")
    }
    let known = request.headers[.ifMatch]
    let read = try await threads.run { [self] () -> Result<Piece, Failure> in
      Result { () throws(Failure) in try piece(range, ifMatch: known) }
    }
    do throws(Failure) {
      return response(try read.get(), on: threads)
    } catch {
      switch error {
      case .unreadable(let reason): throw HTTPError(.notFound, message: "the map file cannot be read: \(reason)")
      case .changed: throw HTTPError(.preconditionFailed, message: "the map file has changed")
      case .outside(let size):
        throw HTTPError(
          .rangeNotSatisfiable, headers: [.contentRange: "bytes */\(size)"], message: "the map file has \(size) bytes")
      }
    }
  }

  private func response(_ piece: Piece, on threads: ReadingThreads) -> Response {
    let last = piece.range.upperBound - 1
    let headers: HTTPFields = [
      .contentType: "application/vnd.pmtiles", .cacheControl: "no-cache", .acceptRanges: "bytes", .eTag: piece.tag,
      .contentRange: "bytes \(piece.range.lowerBound)-\(last)/\(piece.size)",
    ]
    let body = ResponseBody(contentLength: piece.range.count) { [self] writer in
      try await writer.write(ByteBuffer(bytes: piece.bytes))
      var next = piece.range.lowerBound + UInt64(piece.bytes.count)
      while next < piece.range.upperBound {
        let rest = next..<piece.range.upperBound
        let read = try await threads.run(isUnderWay: true) { () -> Result<[UInt8], Failure> in
          Result { () throws(Failure) in try bytes(from: rest, tag: piece.tag) }
        }
        let more = try read.get()
        try await writer.write(ByteBuffer(bytes: more))
        next += UInt64(more.count)
      }
      try await writer.finish(nil)
    }
    return Response(status: .partialContent, headers: headers, body: body)
  }

  /// Reads the first piece of a range. Waits for the disk.
  func piece(_ range: ByteRange, ifMatch known: String?) throws(Failure) -> Piece {
    let (file, size, tag) = try map(ifMatch: known)
    defer { close(file) }
    guard let wanted = range.bytes(of: size, limit: TileFile.longestRange) else { throw .outside(size: size) }
    return Piece(bytes: try TileFile.first(of: wanted, in: file), range: wanted, size: size, tag: tag)
  }

  /// Reads more of a range from the same version of the file. Waits for the disk.
  func bytes(from range: Range<UInt64>, tag: String) throws(Failure) -> [UInt8] {
    let file = try map(ifMatch: tag).file
    defer { close(file) }
    return try TileFile.first(of: range, in: file)
  }

  /// Opens the file, if it is a map and still has the version that the client knows. The caller closes it.
  private func map(ifMatch known: String?) throws(Failure) -> (file: Int32, size: UInt64, tag: String) {
    let file = try open()
    do throws(Failure) {
      var status = stat()
      guard fstat(file, &status) == 0, status.st_size >= 0 else {
        throw .unreadable(String(cString: strerror(errno)))
      }
      let tag = "\"\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec)-\(status.st_mtim.tv_nsec)\""
      if let known, known != "*", known != tag { throw .changed }
      guard TileFile.read(0..<UInt64(TileFile.beginning.count), of: file) == TileFile.beginning else {
        throw .unreadable("it is not a PMTiles file of version 3")
      }
      return (file, UInt64(status.st_size), tag)
    } catch {
      close(file)
      throw error
    }
  }

  private static func first(of range: Range<UInt64>, in file: Int32) throws(Failure) -> [UInt8] {
    let piece = range.lowerBound..<min(range.upperBound, range.lowerBound + longestPiece)
    let bytes = read(piece, of: file)
    guard bytes.count == piece.count else { throw .unreadable("the file ends before byte \(piece.upperBound)") }
    return bytes
  }

  private func open() throws(Failure) -> Int32 {
    let folder: (folder: Folder, name: String)
    do throws(FolderError) {
      folder = try Folder.of(file: path, of: .anyone)
    } catch {
      throw .unreadable(String(cString: strerror(error.errno)))
    }
    do throws(Files.Errno) {
      return try folder.folder.open(folder.name, O_RDONLY)
    } catch {
      throw .unreadable("\(error)")
    }
  }

  /// Reads the bytes of a range, or fewer at the end of the file.
  private static func read(_ range: Range<UInt64>, of file: Int32) -> [UInt8] {
    Array(unsafeUninitializedCapacity: range.count) { buffer, count in
      while count < range.count {
        let got = pread(
          file, buffer.baseAddress.map { $0 + count }, range.count - count, off_t(range.lowerBound) + off_t(count))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { return }
        count += got
      }
    }
  }
}

/// The bytes of a file that a request wants (RFC 9110, section 14.1.2): one range, the form that browsers use.
struct ByteRange: Equatable {
  let first: UInt64
  /// The last byte, inclusive; `nil` for the end of the file.
  let last: UInt64?
  /// Whether the range counts from the end of the file. Then `first` is the number of bytes.
  let isSuffix: Bool

  /// - Parameter field: `bytes=0-16383`, `bytes=100-` or `bytes=-100`
  /// - Returns: `nil` for anything else, including several ranges
  init?(_ field: String) {
    let unit = "bytes="
    guard field.lowercased().hasPrefix(unit) else { return nil }
    let ends = field.utf8.dropFirst(unit.utf8.count)
      .split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    let (start, end) = (ByteRange.number(ends[0]), ByteRange.number(ends[1]))
    if let start, ends[1].isEmpty || end != nil {
      if let end, end < start { return nil }
      (first, last, isSuffix) = (start, end, false)
    } else if ends[0].isEmpty, let end, end > 0 {
      (first, last, isSuffix) = (end, nil, true)
    } else {
      return nil
    }
  }

  /// The bytes of a file of this size, at most `limit`; `nil` if the file has none of them.
  func bytes(of size: UInt64, limit: UInt64) -> Range<UInt64>? {
    let start = isSuffix ? size - min(first, size) : first
    guard start < size else { return nil }
    let end = last.map { min($0, size - 1) + 1 } ?? size
    return start..<min(end, start + limit)
  }

  private static func number(_ digits: Substring.UTF8View) -> UInt64? {
    let figures = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard !digits.isEmpty, digits.count <= 18, digits.allSatisfy({ figures.contains($0) }) else { return nil }
    return UInt64(String(decoding: digits, as: UTF8.self))
  }
}
