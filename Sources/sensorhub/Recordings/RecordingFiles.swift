import Glibc
import HardwareIO
import MCAP

/// The files of recordings, in the order of their times. None stays open: there may be thousands.
struct RecordingFiles {
  struct File {
    var path: String
    var byteCount: UInt64
    /// Log times; both 0 if there are no messages.
    var startNanoseconds: UInt64
    var endNanoseconds: UInt64
    var messageCount: UInt64
    var topics: Set<String>
    /// `nil` for a file in order.
    var damage: MCAPError?

    func open() throws(CommandError) -> MCAPReader<MCAPFileSource> {
      do throws(MCAPError) { return try MCAPReader(path: path) } catch { throw CommandError(error, reading: path) }
    }
  }

  private(set) var files: [File] = []
  /// Of a folder, those in which nothing is whole yet: one that is being recorded just now, say.
  private(set) var emptyPaths: [String] = []

  /// - Parameter paths: of files, and of folders whose `.mcap` files are meant
  init(_ paths: [String]) throws(CommandError) {
    var known: Set<String> = []
    for given in paths {
      let isFolder = RecordingFiles.isFolder(given)
      for path in isFolder ? try RecordingFiles.recordings(in: given) : [given] {
        guard known.insert(Files.resolved(path) ?? path).inserted else { continue }
        do throws(MCAPError) {
          files.append(try RecordingFiles.look(at: path))
        } catch {
          guard isFolder else { throw CommandError(error, reading: path) }
          switch error {
          case .cut: emptyPaths.append(path)
          // The oldest go while somebody looks.
          case .system(_, ENOENT): break
          default: Terminal.standardError("left out: \(CommandError(error, reading: path))")
          }
        }
      }
    }
    guard !files.isEmpty else {
      throw CommandError(
        .data, "none of the recordings has anything in it yet: \(emptyPaths.joined(separator: ", "))",
        nextStep: "while the hub records, the first chunk comes within seconds")
    }
    // Segments have their time in their names, which decides where there are no messages.
    files.sort { ($0.startNanoseconds, $0.path) < ($1.startNanoseconds, $1.path) }
  }

  var messageCount: UInt64 { files.reduce(0) { $0 + $1.messageCount } }

  private static func look(at path: String) throws(MCAPError) -> File {
    let reader = try MCAPReader(path: path)
    if let error = reader.missingDecompression { throw error }
    let statistics = reader.summary.statistics
    return File(
      path: path, byteCount: reader.source.byteCount, startNanoseconds: statistics?.startTimeNanoseconds ?? 0,
      endNanoseconds: statistics?.endTimeNanoseconds ?? 0, messageCount: statistics?.messageCount ?? 0,
      topics: Set(reader.summary.channels.values.map(\.topic)), damage: reader.damage)
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func recordings(in folder: String) throws(CommandError) -> [String] {
    let names = Files.names(in: folder).filter { $0.hasSuffix(".mcap") }
    guard !names.isEmpty else {
      throw CommandError(
        .noInput, "there is no recording in the folder '\(folder)'", nextStep: "the names of recordings end in .mcap")
    }
    return names.map { folder.hasSuffix("/") ? folder + $0 : "\(folder)/\($0)" }
  }
}

extension CommandError {
  /// What a file of a recording's cannot be read for.
  init(_ error: MCAPError, reading path: String) {
    switch error {
    case .notMCAP:
      self.init(
        .data, "'\(path)' is no MCAP file",
        nextStep: "give a recording, such as sensorhub-20261122T100000Z-000.mcap, or a folder of them; "
          + "what a receiver said is read by sensorhub decode")
    case .cut:
      self.init(
        .data, "nothing in '\(path)' is whole: \(error.summary)",
        nextStep: "while the hub records, the first chunk comes within seconds")
    case .system(_, ENOENT):
      self.init(.noInput, "there is no file '\(path)'", nextStep: "give a recording's path, or a folder of recordings")
    case .system(_, EACCES):
      self.init(.noPermission, "no permission to read '\(path)'", nextStep: "ls -l '\(path)'")
    case .system: self.init(.inputOutput, error.summary)
    default: self.init(.data, "'\(path)' cannot be read: \(error.summary)", nextStep: error.nextStep)
    }
  }
}
