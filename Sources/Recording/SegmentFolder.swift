import CLinux
import Glibc
import HardwareIO
import MCAP

/// A folder with segments. All other files in it stay untouched.
public struct SegmentFolder: SegmentStore {
  public let path: String

  public init(path: String) { self.path = path }

  public var segments: [StoredSegment] {
    Files.names(in: path).filter(SegmentName.isOne).compactMap { name in
      var status = stat()
      guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      // File systems may have times beyond the range of nanoseconds.
      let seconds = min(max(Int64(status.st_mtim.tv_sec), 0), 9_000_000_000)
      // Reserved space is not included in a file's size.
      let byteCount = max(Int64(status.st_size), Int64(status.st_blocks) * 512)
      return StoredSegment(
        name: name, byteCount: UInt64(max(0, byteCount)),
        writtenNanosecondsSince1970: seconds * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
    }
  }

  public var freeByteCount: UInt64? {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { return nil }
    return UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }

  public func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile {
    // Only the last folder of the path is made. The folders above it are for the user to make, or belong to a disk that
    // is not mounted.
    let folder = try open(makingWith: 0o755)
    let file = try FolderFile(name, in: folder, limit: limit)
    folder.synchronize()
    return file
  }

  public func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)? {
    try FolderFile(recycling: old, as: name, in: try open(), limit: limit)
  }

  /// Opens the folder. It stays open only while a segment is written, so that its disk can be removed.
  private func open(makingWith mode: UInt32? = nil) throws(MCAPError) -> Folder {
    do throws(FolderError) {
      return try Folder(path, of: .anyone, makingWith: mode)
    } catch {
      let doing = if case .system(let doing, _) = error.reason { doing } else { "opening the folder" }
      throw .system("\(doing) \(path)", errno: error.errno)
    }
  }

  public func remove(_ name: String) throws(MCAPError) {
    guard unlink("\(path)/\(name)") == 0 || errno == ENOENT else {
      throw .system("removing \(path)/\(name)", errno: errno)
    }
  }

  public func setWritten(_ name: String, nanosecondsSince1970: Int64) {
    let time = timespec(
      tv_sec: Int(nanosecondsSince1970 / 1_000_000_000), tv_nsec: Int(nanosecondsSince1970 % 1_000_000_000))
    _ = utimensat(AT_FDCWD, "\(path)/\(name)", [time, time], AT_SYMLINK_NOFOLLOW)
  }

  public func isHeld(_ name: String) -> Bool {
    guard let folder = try? open(), let descriptor = try? folder.open(name, O_RDONLY) else { return false }
    defer {
      _ = flock(descriptor, LOCK_UN)
      close(descriptor)
    }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  public func repair(_ name: String) throws(MCAPError) -> MCAPRepair {
    let folder = try open()
    let descriptor: Int32
    do throws(Files.Errno) {
      descriptor = try folder.open(name, O_RDWR)
    } catch {
      throw .system("opening \(path)/\(name)", errno: error.rawValue)
    }
    // A file that was written over another one is sealed, so the value of `isRecycled` does not matter.
    return try MCAPRepair.repair(descriptor: descriptor, path: "\(path)/\(name)", isRecycled: false)
  }
}

/// A segment in a folder, written in whole blocks of the disk. It is a new file, or an older segment that is
/// overwritten.
///
/// After the end of the data, the last block is filled with zeros. Until the segment ends, the bytes after that block
/// are empty or belong to the older recording. The space for a growing file is reserved in large pieces. An overwritten
/// file already has its space, so only its data is written.
final class FolderFile: SegmentFile {
  /// The block size of nearly all file systems; smaller blocks divide it.
  static let blockByteCount = 4096
  private static let pieceByteCount: UInt64 = 1 << 20

  private let folder: Folder
  private let name: String
  private var path: String { "\(folder.path)/\(name)" }
  private let descriptor: Int32
  /// The older segment's name, until the file has new contents.
  private var oldName: String?
  /// The file's identity on its disk; `nil` if it is unknown.
  private var identity: Identity?
  private var end: UInt64 = 0
  /// The contents of the last, incomplete block.
  private var blocks: [UInt8] = []
  private(set) var takenByteCount: UInt64 = 0
  /// The planned final size in bytes.
  private let limit: UInt64
  private var mayReserve = true

  private struct Identity: Equatable {
    var device: UInt64
    var number: UInt64

    init?(_ path: String) {
      var status = stat()
      guard lstat(path, &status) == 0 else { return nil }
      device = UInt64(status.st_dev)
      number = UInt64(status.st_ino)
    }
  }

  /// Makes a new file, and removes an existing one. If that is a link, only the link is removed.
  init(_ name: String, in folder: Folder, limit: UInt64?) throws(MCAPError) {
    folder.remove(name)
    do throws(Files.Errno) {
      descriptor = try folder.open(name, O_RDWR | O_CREAT, mode: 0o644)
    } catch {
      throw .system("creating \(folder.path)/\(name)", errno: error.rawValue)
    }
    self.folder = folder
    self.name = name
    self.limit = limit ?? .max
    identity = Identity("\(folder.path)/\(name)")
    // The lock keeps another hub with the same folder from repairing this file.
    _ = flock(descriptor, LOCK_EX | LOCK_NB)
  }

  /// Opens an older segment to overwrite it. This removes the segment's end, without which it is no longer a complete
  /// recording. The file gets its new name with its first new bytes.
  ///
  /// - Returns: `nil` if the segment cannot be opened, if a program reads it, if it is not a regular file or has a
  ///   second name, or if overwriting would save nothing
  init?(recycling oldName: String, as name: String, in folder: Folder, limit: UInt64?) throws(MCAPError) {
    descriptor = (try? folder.open(oldName, O_RDWR)) ?? -1
    self.folder = folder
    self.name = name
    self.oldName = oldName
    self.limit = limit ?? .max
    guard descriptor >= 0 else { return nil }
    var status = stat()
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, fstat(descriptor, &status) == 0,
      status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1, status.st_size > 0
    else { return nil }
    let block = UInt64(FolderFile.blockByteCount)
    let kept = min((UInt64(status.st_size) - 1) / block, self.limit / block) * block
    guard kept > 0 else { return nil }
    // This change must be on the disk before any new bytes. Otherwise a power failure could leave a file with a new
    // start and an old end.
    guard ftruncate(descriptor, off_t(kept)) == 0, fdatasync(descriptor) == 0 else {
      throw .system("writing over \(folder.path)/\(oldName)", errno: errno)
    }
    takenByteCount = kept
  }

  deinit {
    guard descriptor >= 0 else { return }
    // Unlock explicitly: a child process that has not started its program yet has a copy of the descriptor, which would
    // keep the lock.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  var isThere: Bool { identity != nil && Identity("\(folder.path)/\(oldName ?? name)") == identity }

  func growth(by count: Int) -> UInt64 { taken(for: end + UInt64(count)) - takenByteCount }

  /// The space that the file takes on the disk when it has this number of bytes.
  private func taken(for needed: UInt64) -> UInt64 {
    guard needed > takenByteCount else { return takenByteCount }
    let block = UInt64(FolderFile.blockByteCount)
    let whole = (needed + block - 1) / block * block
    return mayReserve ? max(whole, min(takenByteCount + FolderFile.pieceByteCount, limit / block * block)) : whole
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
    reserve(end + UInt64(bytes.count))
    let held = blocks.count
    let start = end - UInt64(held)
    blocks.append(contentsOf: bytes)
    let count = blocks.count
    let block = FolderFile.blockByteCount
    blocks.append(contentsOf: repeatElement(0, count: (count + block - 1) / block * block - count))
    do {
      try write(at: start)
      try takeName()
    } catch {
      // The end has not moved, so the next attempt overwrites these bytes.
      blocks.removeLast(blocks.count - held)
      throw error
    }
    end += UInt64(bytes.count)
    takenByteCount = max(takenByteCount, start + UInt64(blocks.count))
    blocks.removeLast(blocks.count - count)
    blocks.removeFirst(count / block * block)
  }

  /// Reserves space without changing the file's size, because readers take all bytes of the file for recorded data.
  private func reserve(_ needed: UInt64) {
    let target = taken(for: needed)
    guard mayReserve, target > takenByteCount else { return }
    switch clinux_reserve(descriptor, Int64(takenByteCount), Int64(target - takenByteCount)) {
    case 0: takenByteCount = target
    // The disk may still have room for the bytes themselves. If it does not, the write fails.
    case -EINTR, -ENOSPC, -EDQUOT: break
    default: mayReserve = false
    }
  }

  private func write(at start: UInt64) throws(MCAPError) {
    try blocks.withUnsafeBufferPointer { (blocks) throws(MCAPError) in
      try writeAll(UnsafeRawBufferPointer(blocks), to: descriptor, at: start, path)
    }
  }

  /// Gives the file its new name once its new start is on the disk, so that a file with a new name never contains an
  /// older recording.
  private func takeName() throws(MCAPError) {
    guard let oldName else { return }
    try synchronize()
    do throws(Files.Errno) {
      try folder.rename(oldName, to: name)
    } catch {
      throw .system("renaming \(folder.path)/\(oldName) to \(path)", errno: error.rawValue)
    }
    self.oldName = nil
    identity = Identity(path)
    folder.synchronize()
  }

  func synchronize() throws(MCAPError) {
    guard fdatasync(descriptor) == 0 else { throw .system("writing \(path)", errno: errno) }
  }

  func finish() throws(MCAPError) {
    guard ftruncate(descriptor, off_t(end)) == 0 else { throw .system("ending \(path)", errno: errno) }
    takenByteCount = end
    try synchronize()
  }
}
