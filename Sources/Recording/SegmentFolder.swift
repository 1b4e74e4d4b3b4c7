import CLinux
import Glibc
import HardwareIO
import MCAP

/// A folder with segments, and perhaps with other files, which are left alone.
public struct SegmentFolder: SegmentStore {
  public let path: String

  public init(path: String) { self.path = path }

  public var segments: [StoredSegment] {
    Files.names(in: path).filter(SegmentName.isOne).compactMap { name in
      var status = stat()
      guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      // Disks know times that nanoseconds do not.
      let seconds = min(max(Int64(status.st_mtim.tv_sec), 0), 9_000_000_000)
      // What was reserved for a file is not a part of its size.
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
    // The last part of the path only: what is above it is somebody's decision, or a disk that is not there.
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw .system("making the folder \(path)", errno: errno) }
    let file = try FolderFile(path: "\(path)/\(name)", limit: limit)
    SegmentFolder.synchronize(folderOf: "\(path)/\(name)")
    return file
  }

  public func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)? {
    try FolderFile(recycling: "\(path)/\(old)", as: "\(path)/\(name)", limit: limit)
  }

  /// A file that nobody finds after a power cut is none.
  static func synchronize(folderOf path: String) {
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
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
    let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer {
      _ = flock(descriptor, LOCK_UN)
      close(descriptor)
    }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  public func repair(_ name: String) throws(MCAPError) -> MCAPRepair {
    // Those that were written over are sealed, and say so themselves.
    try MCAPRepair.repair(path: "\(path)/\(name)", isRecycled: false)
  }
}
