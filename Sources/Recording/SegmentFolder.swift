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
    // A file that was written over another one is sealed, so `isRecycled` has no effect on it.
    return try MCAPRepair.repair(descriptor: descriptor, path: "\(path)/\(name)", isRecycled: false)
  }
}
