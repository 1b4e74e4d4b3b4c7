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
      return StoredSegment(
        name: name, byteCount: UInt64(max(0, status.st_size)),
        writtenNanosecondsSince1970: seconds * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
    }
  }

  public func create(_ name: String) throws(MCAPError) -> any SegmentFile {
    // The last part of the path only: what is above it is somebody's decision, or a disk that is not there.
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw .system("making the folder \(path)", errno: errno) }
    let file = try FolderFile(path: "\(path)/\(name)")
    // A file that nobody finds after a power cut is none.
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder >= 0 {
      fsync(folder)
      close(folder)
    }
    return file
  }

  public func remove(_ name: String) throws(MCAPError) {
    guard unlink("\(path)/\(name)") == 0 || errno == ENOENT else {
      throw .system("removing \(path)/\(name)", errno: errno)
    }
  }

  public func isHeld(_ name: String) -> Bool {
    let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  public func repair(_ name: String) throws(MCAPError) -> MCAPRepair {
    try MCAPRepair.repair(path: "\(path)/\(name)", isRecycled: false)
  }
}

/// A file of such a folder.
private final class FolderFile: SegmentFile {
  private var sink: MCAPFileSink
  private let path: String
  /// Which file of which disk it is; `nil` where that could not be found out.
  private let identity: Identity?
  /// Has it locked, so that another hub with the same folder does not take it for one that was cut; -1 where that cannot be.
  private let lock: Int32

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

  init(path: String) throws(MCAPError) {
    sink = try MCAPFileSink(path: path)
    self.path = path
    identity = Identity(path)
    lock = open(path, O_RDONLY | O_CLOEXEC)
    if lock >= 0 { _ = flock(lock, LOCK_EX | LOCK_NB) }
  }

  deinit { if lock >= 0 { close(lock) } }

  func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) { try sink.append(bytes) }

  func synchronize() throws(MCAPError) { try sink.synchronize() }

  var isThere: Bool { identity != nil && Identity(path) == identity }
}
