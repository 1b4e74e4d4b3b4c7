import CLinux
import Glibc
import HardwareIO
import MCAP
import Outputs
import SystemPackage

/// The destination of an export: standard output, a pipe or a device, or a file that appears only when it is complete.
final class ExportOutput: TrackOutput {
  /// The path of the file; `nil` for standard output.
  private let path: String?
  /// The temporary file, which is renamed at the end; `nil` if the output is written in place.
  private let temporaryPath: String?
  private let file: FileDescriptor
  /// Whether to remove an incomplete file if the export fails.
  private let isRemovedOnFailure: Bool
  private let replaces: Bool
  private var isFinished = false

  /// Opens the output; `path` is `nil` for standard output.
  ///
  /// - Parameter replaces: whether an existing file may be replaced
  init(path: String?, replaces: Bool) throws(CommandError) {
    self.path = path
    guard let path else {
      file = .standardOutput
      isTerminal = isatty(STDOUT_FILENO) == 1
      temporaryPath = nil
      isRemovedOnFailure = false
      self.replaces = replaces
      return
    }
    var status = stat()
    let isThere = stat(path, &status) == 0
    let isFile = status.st_mode & S_IFMT == S_IFREG
    // A temporary file is used if the output is a regular file, or does not exist yet. With `--force`, a pipe or a
    // device is written to directly.
    let isBeside = !isThere || isFile
    let inPlace = isBeside || !replaces ? 0 : try OutputLink.flag(for: path)
    temporaryPath = isBeside ? "\(path).part-\(getpid())" : nil
    isRemovedOnFailure = isBeside
    self.replaces = replaces
    let flags = isBeside ? O_WRONLY | O_CREAT | O_EXCL : O_WRONLY | inPlace
    let isRefused = isThere && !replaces
    let descriptor = isRefused ? -1 : open(temporaryPath ?? path, flags | O_CLOEXEC, 0o644)
    let number = isRefused ? EEXIST : errno
    guard descriptor >= 0 else {
      // There is nothing to remove: an existing file must stay.
      isFinished = true
      file = .standardOutput
      isTerminal = false
      if number == EEXIST, !replaces {
        throw CommandError(
          .noInput, "there is a file '\(path)' already", nextStep: "name another file, or replace this one with --force"
        )
      }
      throw CommandError(
        number == EACCES ? .noPermission : .inputOutput, "cannot write '\(path)': \(String(cString: strerror(number)))",
        nextStep: "name a file in a folder that exists and that you may write in")
    }
    file = FileDescriptor(rawValue: descriptor)
    isTerminal = isatty(descriptor) == 1
  }

  deinit {
    guard path != nil, !isFinished else { return }
    try? file.close()
    if isRemovedOnFailure, let name = temporaryPath ?? path { unlink(name) }
  }

  var name: String { path.map { "'\($0)'" } ?? "standard output" }

  let isTerminal: Bool

  func write(_ bytes: UnsafeRawBufferPointer) throws(Errno) {
    do {
      if isTerminal {
        // A receiver's output may contain any bytes, so make them printable.
        let text = String(decoding: bytes.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        _ = try file.writeAll(Text.printableLines(text).utf8)
      } else {
        _ = try file.writeAll(bytes)
      }
    } catch {
      throw error as? Errno ?? .ioError
    }
  }

  /// Completes the file.
  func finish() throws(CommandError) {
    guard let path, !isFinished else { return }
    isFinished = true
    // Otherwise a power cut soon after could leave an empty file in place of a replaced one. A file system that cannot
    // do this says so with EINVAL.
    if let temporaryPath, fsync(file.rawValue) != 0, errno != EINVAL { try fail(errno, temporaryPath) }
    do {
      try file.close()
    } catch {
      throw CommandError(.inputOutput, "cannot write '\(path)': \(error)")
    }
    guard let temporaryPath else { return }
    // Another program may have made the file in the meantime. Unlike rename(2), link(2) does not replace it.
    if !replaces {
      if link(temporaryPath, path) == 0 {
        unlink(temporaryPath)
        return
      }
      // Some file systems, such as those of memory sticks, have no hard links.
      guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno), access(path, F_OK) != 0 else { return try fail(errno, path) }
    }
    if rename(temporaryPath, path) != 0 { try fail(errno, path) }
  }

  private func fail(_ number: Int32, _ path: String) throws(CommandError) {
    if let temporaryPath { unlink(temporaryPath) }
    throw CommandError(.inputOutput, "cannot write '\(path)': \(String(cString: strerror(number)))")
  }
}

/// Passes an MCAP writer's bytes to an export's output.
struct ExportSink: MCAPSink {
  let output: ExportOutput

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
    do throws(Errno) {
      try output.write(bytes)
    } catch {
      throw .system("writing \(output.name)", errno: error.rawValue)
    }
  }
}

/// Checks whether an output path is a link.
enum OutputLink {
  /// Refuses a link that belongs to another user. Such a link could lead to any file that this user (for example root)
  /// may write. The kernel refuses such a link only in folders that every user may write to, such as /tmp.
  ///
  /// - Returns: the flag for open(2) that refuses a link made after this check
  static func flag(for path: String) throws(CommandError) -> Int32 {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return O_NOFOLLOW }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw CommandError(
        .noPermission,
        "'\(path)' is a link that belongs to \(Accounts.title(ofUser: status.st_uid)) and could lead anywhere",
        nextStep: "remove it, or name another file")
    }
    return 0
  }
}

/// The files that a command reads. Its output must not replace them.
enum InputFiles {
  /// Throws if the output path leads to one of the input files, under any name.
  static func protect(_ paths: [String], from output: String) throws(CommandError) {
    var target = stat()
    guard stat(output, &target) == 0, target.st_mode & S_IFMT == S_IFREG else { return }
    for path in paths {
      var status = stat()
      guard stat(path, &status) == 0, status.st_dev == target.st_dev, status.st_ino == target.st_ino else { continue }
      throw CommandError(.noInput, "'\(output)' is the file that is being read", nextStep: "name another file")
    }
  }
}
