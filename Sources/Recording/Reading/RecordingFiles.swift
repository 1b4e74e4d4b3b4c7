import CLinux
import Glibc
import HardwareIO
import MCAP

/// The files of recordings, in the order of their times. No file stays open, because there may be thousands.
public struct RecordingFiles: Sendable {
  public struct File: Sendable {
    public var path: String
    public var byteCount: UInt64
    /// The first and last log times; both are 0 if the file has no messages.
    public var startNanoseconds: UInt64
    public var endNanoseconds: UInt64
    public var messageCount: UInt64
    public var topics: Set<String>
    /// The damage of the file; `nil` for an intact file.
    public var damage: MCAPError?
    /// The offset from the file's log times to UTC; `nil` until it is determined.
    var correctionNanoseconds: Int64?
    /// The scan of the file; `nil` if the file has a summary.
    var scan: MCAPScan?
    /// The number of damaged bytes that are followed by more data. If the file has an end, this is known only after the
    /// whole file was read.
    public var leftOutByteCount: UInt64 = 0
    /// Whether the file was found in a folder. Such a file may be missing when it is opened, without an error, because
    /// a hub that records into a ring removes the oldest files.
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
  /// The files of a folder that have no complete message, such as a file whose recording has just begun.
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
          // The oldest file of a ring may be removed during the search.
          case .system(_, ENOENT): break
          default: leftOut(.unreadable(path: path, error))
          }
        }
      }
    }
    guard !files.isEmpty else { throw .nothingWhole(paths: emptyPaths) }
    sort()
  }

  /// Sorts the files by their times. The segments of a folder stay in the order of their names: a board without a
  /// real-time clock may start with an earlier time than that of its last segment, and a segment may have no messages.
  private mutating func sort() {
    var latest: [Substring: UInt64] = [:]
    let keyed = files.sorted { $0.path < $1.path }.map { file -> (key: UInt64, file: File) in
      let slash = file.path.lastIndex(of: "/") ?? file.path.startIndex
      guard file.isListed, SegmentName.isOne(String(file.path[slash...].drop { $0 == "/" })) else {
        return (file.startNanoseconds, file)
      }
      let key = max(file.startNanoseconds, latest[file.path[..<slash]] ?? 0)
      latest[file.path[..<slash]] = key
      return (key, file)
    }
    files = keyed.sorted { ($0.key, $0.file.path) < ($1.key, $1.file.path) }.map(\.file)
  }

  /// The number of messages that the files state, for the progress of long work. A damaged file may state any number.
  public var messageCount: UInt64 {
    files.reduce(0) { total, file in
      let (sum, isTooLarge) = total.addingReportingOverflow(file.messageCount)
      return isTooLarge ? .max : sum
    }
  }

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
  /// - Throws: if the file's chunks are compressed and the library is missing
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

/// The rate at which a recording grows, measured from its files.
public struct RecordingRate: Sendable {
  /// The minimum duration. In a shorter recording, most bytes belong to the beginning of the file.
  static let leastSeconds = 30.0

  public let bytesPerSecond: Double

  /// `nil` if nothing, or less than `leastSeconds`, was recorded.
  public init?(bytes: UInt64, seconds: Double) {
    guard seconds >= RecordingRate.leastSeconds, bytes > 0 else { return nil }
    bytesPerSecond = Double(bytes) / seconds
  }

  /// The mean rate over files. The time between two files does not count, because nothing was recorded then.
  public init?(of files: [RecordingFiles.File]) {
    let seconds = files.reduce(0) { sum, file in
      sum + Double(file.endNanoseconds - min(file.startNanoseconds, file.endNanoseconds)) / 1e9
    }
    self.init(bytes: files.reduce(0) { $0 + $1.byteCount }, seconds: seconds)
  }

  /// The duration that this number of megabytes lasts.
  public func seconds(for megabytes: Int) -> Double { Double(megabytes) * 1e6 / bytesPerSecond }

  /// A text such as `about 19 hours`.
  public static func text(seconds: Double) -> String {
    let (value, unit): (Double, String) =
      seconds < 7200
      ? (seconds / 60, "minutes") : seconds < 172_800 ? (seconds / 3600, "hours") : (seconds / 86_400, "days")
    return "about \(Int(min(value, 1e9).rounded())) \(unit)"
  }
}
