import CLinux
import Glibc

/// A folder that is held open, and whose owner has been checked.
///
/// Files in the folder are opened, renamed and removed through the folder's descriptor and without following links.
/// Other users of the machine can neither redirect the folder's path, nor use links in the folder to make this process
/// read, write or truncate a file outside.
///
///     let folder = try Folder("/tmp/sensorhub-1000", of: .own, makingWith: 0o700)
///     try folder.replace("board-in-use.json5", with: text)
public final class Folder: Sendable {
  /// The permitted owners of a folder.
  public enum Owner: Sendable {
    /// This process's user or root owns the folder, and neither a group nor other users may write to it.
    case own
    /// As for `own`, but the service's account may also own the folder.
    case trusted
    /// Any account may own the folder. The user chose it for recordings, for example on a USB stick.
    case anyone
  }

  public let path: String
  let descriptor: Int32
  private let user: UInt32
  private let group: UInt32
  private let owner: Owner

  /// Opens a folder. If the path is a link, it is followed only if the link belongs to this process's user or to root,
  /// or if `owner` is `anyone`.
  ///
  /// - Parameters:
  ///   - owner: whom the folder may belong to
  ///   - mode: the mode with which the folder is created if it does not exist; the folder above must exist. `nil` if
  ///     the folder must exist
  public convenience init(_ path: String, of owner: Owner, makingWith mode: UInt32? = nil) throws(FolderError) {
    if let mode, mkdir(path, mode) != 0, errno != EEXIST {
      throw FolderError(path, .system("making the folder", errno))
    }
    try self.init(path, of: owner, at: try Folder.open(path, of: owner))
  }

  /// Takes ownership of the descriptor.
  private init(_ path: String, of owner: Owner, at descriptor: Int32) throws(FolderError) {
    var status = stat()
    let result = fstat(descriptor, &status)
    let reason = result == 0 ? Folder.refusal(of: status, owner) : .system("opening the folder", errno)
    self.path = path
    self.descriptor = descriptor
    self.owner = owner
    (user, group) = (status.st_uid, status.st_gid)
    // The instance is fully initialized here, so `deinit` closes the descriptor.
    if let reason { throw FolderError(path, reason) }
  }

  deinit { close(descriptor) }

  private static func open(_ path: String, of owner: Owner) throws(FolderError) -> Int32 {
    var next = path
    for _ in 0..<8 {
      let place = clinux_open_place(AT_FDCWD, next, owner == .anyone)
      guard place >= 0 else { throw FolderError(path, .system("opening the folder", errno)) }
      var status = stat()
      let kind = fstat(place, &status) == 0 ? status.st_mode & S_IFMT : 0
      if kind == S_IFDIR { return place }
      defer { close(place) }
      guard kind == S_IFLNK else { throw FolderError(path, .system("opening the folder", ENOTDIR)) }
      guard status.st_uid == geteuid() || status.st_uid == 0 else {
        throw FolderError(path, .link(ofUser: status.st_uid))
      }
      let target = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer -> String? in
        guard let base = buffer.baseAddress else { return nil }
        let count = readlinkat(place, "", base, buffer.count - 1)
        guard count > 0 else { return nil }
        base[count] = 0
        return String(cString: base)
      }
      guard let text = target else { throw FolderError(path, .system("reading the link", errno)) }
      next = text.utf8.first == UInt8(ascii: "/") ? text : "\(Folder.above(next))/\(text)"
    }
    throw FolderError(path, .system("opening the folder", ELOOP))
  }

  /// Returns the folder of a file; `.` if the path is only a name.
  static func above(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func name(_ path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }

  private static func refusal(of status: stat, _ owner: Owner) -> FolderError.Reason? {
    if owner == .anyone { return nil }
    guard isTrusted(status.st_uid, by: owner) else { return .foreign(user: status.st_uid) }
    return status.st_mode & (S_IWGRP | S_IWOTH) == 0 ? nil : .writable(mode: status.st_mode & 0o7777)
  }

  private static func isTrusted(_ user: UInt32, by owner: Owner) -> Bool {
    switch owner {
    case .anyone: true
    case .own: user == geteuid() || user == 0
    case .trusted: user == geteuid() || user == 0 || user == Accounts.serviceUser
    }
  }

  /// Returns the folder of a file, and the file's name in it.
  public static func of(
    file path: String, of owner: Owner
  ) throws(FolderError) -> (folder: Folder, name: String) {
    (try Folder(above(path), of: owner), name(path))
  }

  /// Returns a path to a file in this folder, for calls that take no descriptor. The path remains valid even if the
  /// folder has been renamed, or its own path now leads to another folder.
  public func path(to name: String) -> String { "/proc/self/fd/\(descriptor)/\(name)" }

  /// Opens a regular file in the folder, and nothing else: it does not follow a link, and does not wait for a pipe. In
  /// a folder of any owner (`anyone`), a file opened for writing must belong to this process's user or to the folder's
  /// owner.
  ///
  /// - Parameters:
  ///   - flags: the flags of open(2). With O_CREAT the file must not exist yet (O_EXCL is added)
  ///   - mode: the mode of a created file
  /// - Returns: a descriptor, which the caller closes
  public func open(_ name: String, _ flags: Int32, mode: UInt32 = 0o600) throws(Files.Errno) -> Int32 {
    guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
      throw Files.Errno(EINVAL)
    }
    let exclusive = flags & O_CREAT == 0 ? 0 : O_EXCL
    let file = openat(
      descriptor, name, flags | exclusive | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode)
    guard file >= 0 else {
      throw errno == ELOOP ? Files.Errno(ELOOP, "it is a link, which the hub does not follow here") : Files.Errno(errno)
    }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw Files.Errno(EINVAL, "it is not a regular file")
    }
    // On a USB stick all files belong to the folder's owner, whichever user created them.
    if flags & (O_WRONLY | O_RDWR) != 0, owner == .anyone, status.st_uid != geteuid(), status.st_uid != user {
      close(file)
      throw Files.Errno(EPERM, "it belongs to \(Accounts.title(ofUser: status.st_uid))")
    }
    return file
  }

  /// Reads a whole regular file in the folder. The file's owner must meet the same rule as the folder's owner.
  public func bytes(of name: String, limit: Int = .max) throws(Files.Errno) -> [UInt8] {
    let file = try open(name, O_RDONLY)
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw Files.Errno(errno) }
    guard Folder.isTrusted(status.st_uid, by: owner) else {
      throw Files.Errno(
        EPERM,
        "it belongs to \(Accounts.title(ofUser: status.st_uid)), whom the hub does not trust here")
    }
    return try Files.bytes(from: file, limit: limit)
  }

  /// Writes a new file next to the old one and then replaces the old one. A complete file therefore exists at any
  /// instant.
  ///
  /// - Parameters:
  ///   - mode: the mode of the file, limited by the process's umask
  ///   - isForAll: whether every user may read the file, whatever the umask
  public func replace(
    _ name: String, with bytes: [UInt8], mode: UInt32 = 0o644, isForAll: Bool = false
  ) throws(Files.Errno) {
    // The name is unique to this process, because two processes may write the same file at the same time.
    let new = "\(name).\(getpid()).new"
    remove(new)
    removeUnfinished(of: name)
    let file = try open(new, O_WRONLY | O_CREAT, mode: mode)
    if isForAll { fchmod(file, 0o644) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
      if count <= 0 { break }
      rest = rest.dropFirst(count)
    }
    let isWritten = rest.isEmpty && fsync(file) == 0
    let error = errno
    close(file)
    guard isWritten, renameat(descriptor, new, descriptor, name) == 0 else {
      let reason = isWritten ? errno : error
      remove(new)
      throw Files.Errno(reason)
    }
  }

  /// Removes what processes that no longer exist have left of this file, for example in a power cut while they wrote.
  private func removeUnfinished(of name: String) {
    for entry in Files.names(in: path(to: ".")) where entry.hasPrefix("\(name).") && entry.hasSuffix(".new") {
      let number = Substring(entry.utf8.dropFirst(name.utf8.count + 1).dropLast(".new".utf8.count))
      guard let process = pid_t(number) else { continue }
      var status = stat()
      guard process > 0, kill(process, 0) != 0, errno == ESRCH,
        fstatat(descriptor, entry, &status, AT_SYMLINK_NOFOLLOW) == 0
      else { continue }
      // In another container, a process with this number may be writing the file, which takes less than a minute. A
      // machine without a real-time clock may have set a time in the future before its power cut.
      let ageSeconds = clinux_realtime_ns() / 1_000_000_000 - Int64(status.st_mtim.tv_sec)
      if !(0...60).contains(ageSeconds) { remove(entry) }
    }
  }

  /// Renames a file in the folder. An existing file with the new name is replaced.
  public func rename(_ name: String, to other: String) throws(Files.Errno) {
    guard renameat(descriptor, name, descriptor, other) == 0 else { throw Files.Errno(errno) }
  }

  /// Removes a file or a link. Does nothing if nothing has this name.
  /// - Returns: whether something was removed
  @discardableResult
  public func remove(_ name: String) -> Bool { unlinkat(descriptor, name, 0) == 0 }

  /// Whether the folder has a file, a folder or a link of this name.
  public func has(_ name: String) -> Bool {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Whether the folder has an ordinary file or a folder of this name.
  public func hasFile(_ name: String) -> Bool {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
    return [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }

  /// Whether the system denies permission to find out if a file of this name exists.
  public func isHidden(_ name: String) -> Bool {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == EACCES
  }

  /// Writes the folder's own changes to the disk. Without this, a new file could lose its directory entry in a power
  /// cut.
  public func synchronize() {
    let readable = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard readable >= 0 else { return }
    fsync(readable)
    close(readable)
  }

  /// Locks the folder for one process, through a file in the folder that only the folder's owner can open. If all users
  /// could open the file, any user could hold the lock.
  ///
  /// - Parameter waits: whether to wait while another process has the lock, instead of returning `nil`
  /// - Returns: a descriptor, which holds the lock until it is closed; `nil` if another process has the lock
  public func lock(_ name: String, waits: Bool = false) throws(Files.Errno) -> Int32? {
    let file = try openLock(name)
    var status = stat()
    guard fstat(file, &status) == 0, Folder.isTrusted(status.st_uid, by: owner), status.st_nlink == 1 else {
      close(file)
      throw Files.Errno(EPERM, "the file '\(name)' in it belongs to another user, or has a second name")
    }
    // The folder's owner must be able to open the file too. Earlier versions made the file readable for all users.
    if geteuid() == 0, status.st_uid != user { fchown(file, user, group) }
    if status.st_mode & 0o777 != 0o600 { fchmod(file, 0o600) }
    while flock(file, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      close(file)
      if reason == EWOULDBLOCK { return nil }
      throw Files.Errno(reason)
    }
    return file
  }

  private func openLock(_ name: String) throws(Files.Errno) -> Int32 {
    // Another process may create or remove the file between the two calls.
    for _ in 0..<8 {
      do throws(Files.Errno) {
        return try open(name, O_RDWR)
      } catch {
        guard error.rawValue == ENOENT else { throw error }
      }
      do throws(Files.Errno) {
        return try open(name, O_RDWR | O_CREAT)
      } catch {
        guard error.rawValue == EEXIST else { throw error }
      }
    }
    throw Files.Errno(EAGAIN)
  }

  /// Lets every user connect to a socket in the folder. The mode is set through a checked descriptor, because changing
  /// the umask would affect the whole process.
  public func openToAll(socket name: String) throws(Files.Errno) {
    let place = clinux_open_place(descriptor, name, false)
    guard place >= 0 else { throw Files.Errno(errno) }
    defer { close(place) }
    var status = stat()
    guard fstat(place, &status) == 0 else { throw Files.Errno(errno) }
    guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
      throw Files.Errno(EPERM, "the existing file is not this hub's socket")
    }
    guard chmod("/proc/self/fd/\(place)", 0o666) == 0 else { throw Files.Errno(errno) }
  }
}

/// An error that explains why a folder is not used.
public struct FolderError: Error, Equatable, Sendable {
  public enum Reason: Equatable, Sendable {
    case system(_ doing: String, Int32)
    /// The path is a link that another user made.
    case link(ofUser: UInt32)
    case foreign(user: UInt32)
    /// The folder's group or all users may write to it.
    case writable(mode: UInt32)
  }

  public let path: String
  public let reason: Reason

  init(_ path: String, _ reason: Reason) {
    self.path = path
    self.reason = reason
  }

  /// Whether no folder exists at the path.
  public var isMissing: Bool {
    if case .system(_, let number) = reason { number == ENOENT || number == ENOTDIR } else { false }
  }

  /// The error number from the system; EPERM if the folder is not trusted.
  public var errno: Int32 { if case .system(_, let number) = reason { number } else { EPERM } }

  /// Whether another user could change the folder's contents, or lead the path to another folder.
  public var isUntrusted: Bool { if case .system = reason { false } else { true } }

  /// Advice that ends in a command, for a folder that is untrusted; `nil` for an error of the system.
  public var nextStep: String? {
    let quoted = "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    switch reason {
    case .system: return nil
    case .link: return "check the link's target, and remove the link: ls -l \(quoted)"
    case .foreign: return "check who created it, and remove it or choose another path: ls -ld \(quoted)"
    case .writable: return "chmod go-w \(quoted)"
    }
  }
}

extension FolderError: CustomStringConvertible {
  public var description: String {
    switch reason {
    case .system(let doing, let number): "\(doing) \(path): \(String(cString: strerror(number)))"
    case .link(let user):
      "\(path) is a link of \(Accounts.title(ofUser: user)), who can change its target: the hub does not follow it"
    case .foreign(let user):
      "the folder \(path) belongs to \(Accounts.title(ofUser: user)), who can write anything there: the hub "
        + "does not use it"
    case .writable(let mode):
      "the folder \(path) is writable for other users (mode \(String(mode, radix: 8))): the hub does not use it"
    }
  }
}
