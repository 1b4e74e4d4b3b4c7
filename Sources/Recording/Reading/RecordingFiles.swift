import CLinux
import Glibc
import HardwareIO
import MCAP

/// The files of recordings, in the order of their times. None stays open, because there may be thousands.
public struct RecordingFiles: Sendable {
  public struct File: Sendable {
    public var path: String
    public var byteCount: UInt64
    /// The first and last log times; both are 0 without messages.
    public var startNanoseconds: UInt64
    public var endNanoseconds: UInt64
    public var messageCount: UInt64
    public var topics: Set<String>
    /// The damage; `nil` for an intact file.
    public var damage: MCAPError?
    /// The offset from its log times to UTC; `nil` until it is determined.
    var correctionNanoseconds: Int64?
    /// The scan of a file without an end.
    var scan: MCAPScan?
    /// The number of damaged bytes before more data. In a file with an end, it is known only after all of it is read.
    public var leftOutByteCount: UInt64 = 0
    /// Whether the file was found in a folder. The oldest files of a ring may be removed at any time.
    var isListed = false

    public func open() throws(RecordingError) -> MCAPReader<MCAPFileSource> {
      do throws(MCAPError) {
        return try MCAPReader(MCAPFileSource(path: path), after: scan)
      } catch {
        throw .unreadable(path: path, error)
      }
    }
  }

  public private(set) var files: [File] = []
  /// The files of a folder without a complete message, such as one that is being recorded.
  public private(set) var emptyPaths: [String] = []

  /// - Parameters:
  ///   - paths: files, and folders with `.mcap` files
  ///   - leftOut: called for each file of a folder that cannot be read
  public init(_ paths: [String], leftOut: (RecordingError) -> Void) throws(RecordingError) {
    var known: Set<String> = []
    for given in paths {
      let isFolder = RecordingFiles.isFolder(given)
      for path in isFolder ? try RecordingFiles.recordings(in: given) : [given] {
        guard known.insert(Files.resolved(path) ?? path).inserted else { continue }
        do throws(MCAPError) {
          var file = try File(path: path, MCAPReader(path: path))
          file.isListed = isFolder
          files.append(file)
        } catch {
          guard isFolder else { throw .unreadable(path: path, error) }
          switch error {
          case .cut: emptyPaths.append(path)
          // The oldest file may be removed during the search.
          case .system(_, ENOENT): break
          default: leftOut(.unreadable(path: path, error))
          }
        }
      }
    }
    guard !files.isEmpty else { throw .nothingWhole(paths: emptyPaths) }
    // Segments have their time in their names, which decides if there are no messages.
    files.sort { ($0.startNanoseconds, $0.path) < ($1.startNanoseconds, $1.path) }
  }

  public var messageCount: UInt64 { files.reduce(0) { $0 + $1.messageCount } }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  private static func recordings(in folder: String) throws(RecordingError) -> [String] {
    let names = Files.names(in: folder).filter { $0.hasSuffix(".mcap") }
    guard !names.isEmpty else { throw .noRecordings(folder: folder) }
    return names.map { folder.hasSuffix("/") ? folder + $0 : "\(folder)/\($0)" }
  }
}

extension RecordingFiles.File {
  /// - Throws: if its chunks are compressed and the library is missing
  init(path: String, _ reader: MCAPReader<MCAPFileSource>) throws(MCAPError) {
    if let error = reader.missingDecompression { throw error }
    let statistics = reader.summary.statistics
    self.init(
      path: path, byteCount: reader.source.byteCount, startNanoseconds: statistics?.startTimeNanoseconds ?? 0,
      endNanoseconds: statistics?.endTimeNanoseconds ?? 0, messageCount: statistics?.messageCount ?? 0,
      topics: Set(reader.summary.channels.values.map(\.topic)), damage: reader.damage, scan: reader.scan,
      leftOutByteCount: reader.leftOutByteCount)
  }

  /// Opens a file; `nil` if it has been removed since it was found in its folder.
  public func openIfThere() throws(RecordingError) -> MCAPReader<MCAPFileSource>? {
    do throws(RecordingError) {
      return try open()
    } catch {
      if isListed, case .unreadable(_, .system(_, ENOENT)) = error { return nil }
      throw error
    }
  }
}
