import CLinux
import Glibc
import MCAP
import SystemPackage

/// The destination of a recording: a pipe, a device, or a file. A file is written in place, so that received data is
/// kept even if this program is killed.
final class RecordTarget {
  /// The path; `nil` for standard output.
  let path: String?
  private(set) var byteCount: UInt64 = 0
  private let file: FileDescriptor
  /// Whether the destination is a file. Only a file can be repaired.
  let isFile: Bool
  private let isNew: Bool
  /// The first eight bytes of the recording, and the last eight.
  private var first: [UInt8] = []
  private var last: [UInt8] = []

  /// Opens the destination.
  ///
  /// - Parameters:
  ///   - path: the path; `nil` for standard output
  ///   - replaces: whether an existing file may be replaced; its contents are removed when the first bytes arrive
  init(path: String?, replaces: Bool) throws(CommandError) {
    self.path = path
    guard let path else {
      file = .standardOutput
      isFile = false
      isNew = false
      return
    }
    isNew = !replaces || access(path, F_OK) != 0
    let flags = replaces ? try OutputLink.flag(for: path) : O_EXCL
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0o644)
    guard descriptor >= 0 else {
      let number = errno
      if number == EEXIST {
        throw CommandError(
          .noInput, "there is a file '\(path)' already", nextStep: "name another file, or replace this one with --force"
        )
      }
      throw CommandError(
        number == EACCES ? .noPermission : .inputOutput, "cannot write '\(path)': \(String(cString: strerror(number)))",
        nextStep: "name another path with --output")
    }
    file = FileDescriptor(rawValue: descriptor)
    var status = stat()
    isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  deinit { if path != nil { try? file.close() } }

  var name: String { path.map { "'\($0)'" } ?? "standard output" }

  var isTerminal: Bool { isatty(file.rawValue) == 1 }

  /// The descriptor on which to wait before `writeSome`.
  var descriptor: Int32 { file.rawValue }

  func write(_ bytes: UnsafeRawBufferPointer) throws(Errno) {
    if byteCount == 0, isFile, !isNew, ftruncate(file.rawValue, 0) != 0 { throw Errno(rawValue: errno) }
    note(bytes)
    do {
      _ = try file.writeAll(bytes)
    } catch {
      throw error as? Errno ?? .ioError
    }
  }

  /// Writes at most `PIPE_BUF` bytes. This does not block if poll(2) has reported `descriptor` as writable.
  ///
  /// - Returns: the number of written bytes
  func writeSome(_ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
    let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(PIPE_BUF)))
    do {
      let count = try file.write(piece)
      note(UnsafeRawBufferPointer(rebasing: piece[..<count]))
      return count
    } catch {
      throw error as? Errno ?? .ioError
    }
  }

  private func note(_ bytes: UnsafeRawBufferPointer) {
    byteCount += UInt64(bytes.count)
    first += bytes.prefix(RecordTarget.magicByteCount - first.count)
    last = Array((last + bytes.suffix(RecordTarget.magicByteCount)).suffix(RecordTarget.magicByteCount))
  }

  private static let magicByteCount = 8

  /// Removes the file if this program has created it and no bytes have arrived.
  func discard() {
    if let path, isNew, byteCount == 0 { unlink(path) }
  }

  /// Whether the end of the file has arrived. An MCAP file begins and ends with the same eight bytes.
  var hasEnd: Bool { byteCount > 2 * RecordTarget.magicByteCount && first == last }

  /// Returns once all written bytes are on the disk. Does nothing if the destination is not a file.
  func synchronize() throws(Errno) {
    if isFile, fsync(file.rawValue) != 0 { throw Errno(rawValue: errno) }
  }

  /// Repairs the file if necessary. If the disk is full, the last messages are removed to make room for the file's end.
  ///
  /// - Precondition: `isFile`
  func repair() throws(MCAPError) -> MCAPRepair {
    guard let path else { throw .notMCAP }
    var room: UInt64 = 1 << 12
    while true {
      do throws(MCAPError) {
        return try MCAPRepair.repair(path: path, isRecycled: false)
      } catch {
        var status = stat()
        guard RecordTarget.isFull(error), fstat(file.rawValue, &status) == 0, UInt64(max(0, status.st_size)) > room,
          ftruncate(file.rawValue, status.st_size - off_t(room)) == 0
        else { throw error }
        room *= 2
      }
    }
  }

  private static func isFull(_ error: MCAPError) -> Bool {
    guard case .system(_, let number) = error else { return false }
    return [ENOSPC, EDQUOT, EFBIG].contains(number)
  }
}
