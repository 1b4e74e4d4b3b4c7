import CLinux
import Glibc
import Guarding
import HardwareIO
import MCAP
import NMEA

/// The contents of a folder of segments, for repeated requests. An unchanged segment is not read again, and only the
/// new part of a growing segment is read.
///
/// Reading waits for the disk, so it must not run on an event loop. No file stays open.
public final class SegmentCatalogue: Sendable {
  /// A segment in its present state.
  public struct Segment: Sendable {
    public var name: String
    public var byteCount: UInt64
    /// Whether a hub is writing to it.
    public var isBeingWritten: Bool
    /// The times of the first and the last message; `nil` if there is no complete message.
    public var times: ClosedRange<UTCTime>?
    /// The description of the file; `nil` if there is no complete message.
    var file: RecordingFiles.File?
    /// When the segment's recording began, according to the file.
    var started: String?
  }

  /// Identifies a file and its content.
  private struct Identity: Equatable {
    var device: UInt64
    var number: UInt64
    var byteCount: UInt64
    var seconds: Int64
    var nanoseconds: Int64

    init?(_ path: String) {
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      device = UInt64(status.st_dev)
      number = UInt64(status.st_ino)
      byteCount = UInt64(max(0, status.st_size))
      seconds = Int64(status.st_mtim.tv_sec)
      nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
  }

  private struct Known {
    var identity: Identity
    var file: RecordingFiles.File?
    var started: String?
    /// The correction from the file's own states; `nil` if no receiver has reported the time in this file.
    var correction: Int64?
  }

  private let folder: SegmentFolder
  private let known = Guarded<[String: Known]>([:])

  public init(path: String) { folder = SegmentFolder(path: path) }

  public var path: String { folder.path }

  /// The present segments, in the order of their names.
  public var segments: [Segment] {
    var before: Segment?
    var present: Set<String> = []
    let segments = Files.names(in: path).filter(SegmentName.isOne).compactMap { name -> Segment? in
      guard let known = look(at: name) else { return nil }
      present.insert(name)
      let segment = describe(name, known, after: before)
      if segment.file != nil { before = segment }
      return segment
    }
    known.withLock { known in known = known.filter { present.contains($0.key) } }
    return segments
  }

  /// The segment with a requested name; `nil` if the folder has no such segment.
  public func content(of name: String) throws(MCAPError) -> SegmentContent? {
    guard SegmentName.isOne(name), Identity("\(path)/\(name)") != nil else { return nil }
    do throws(MCAPError) {
      return try SegmentContent(path: "\(path)/\(name)")
    } catch {
      if case .system(_, ENOENT) = error { return nil }
      throw error
    }
  }

  /// The files that may contain messages of a period, from the file of `cursor` on.
  func files(in times: Range<UTCTime>, after cursor: RecordingCursor? = nil) -> [RecordingFiles.File] {
    segments.compactMap { segment in
      guard let file = segment.file, file.messageCount > 0, let recorded = segment.times,
        recorded.lowerBound < times.upperBound, recorded.upperBound >= times.lowerBound
      else { return nil }
      if let cursor, segment.name < cursor.file { return nil }
      return file
    }
  }

  private func look(at name: String) -> Known? {
    let path = "\(path)/\(name)"
    guard let identity = Identity(path) else { return nil }
    let old = known.withLock { $0[name] }
    if let old, old.identity == identity { return old }
    var new = Known(identity: identity)
    // A file that cannot be read is listed without its contents.
    if let reader = try? MCAPReader(MCAPFileSource(ofFolder: path), after: old?.file?.scan),
      let file = try? RecordingFiles.File(path: path, reader)
    {
      new.file = file
      new.started = RecordedMessages.facts(named: "sensorhub", of: reader)["started"]
      let isSame = new.started != nil && new.started == old?.started
      new.correction = (isSame ? old?.correction : nil) ?? ClockCorrection.glimpsed(in: reader)
    }
    known.withLock { [new] in $0[name] = new }
    return new
  }

  private func describe(_ name: String, _ known: Known, after before: Segment?) -> Segment {
    var segment = Segment(
      name: name, byteCount: known.identity.byteCount, isBeingWritten: false, file: known.file, started: known.started)
    // The lock of an empty file is not checked, because the hub that is making the file may not have locked it yet.
    if known.file?.damage != nil || known.file == nil, known.identity.byteCount > 0 {
      segment.isBeingWritten = folder.isHeld(name)
    }
    guard let file = known.file else { return segment }
    let isSame = known.started != nil && known.started == before?.started
    let correction = known.correction ?? (isSame ? before?.file?.correctionNanoseconds : nil) ?? 0
    segment.file?.correctionNanoseconds = correction
    if file.messageCount > 0 {
      let start = Int64(clamping: file.startNanoseconds).clampedSum(correction)
      let end = Int64(clamping: file.endNanoseconds).clampedSum(correction)
      segment.times = UTCTime(nanosecondsSince1970: start)...UTCTime(nanosecondsSince1970: max(start, end))
    }
    return segment
  }
}

/// The bytes of a segment, for clients. They form a complete file even while the segment is being written. The segment
/// stays open, so that it can be read to its end even if it is removed in the meantime.
public final class SegmentContent: Sendable {
  private let source: RepairedSource<MCAPFileSource>

  init(path: String) throws(MCAPError) {
    let file = try MCAPFileSource(ofFolder: path)
    source = RepairedSource(file, try MCAPRepair(of: file, isRecycled: false))
  }

  public var byteCount: UInt64 { source.byteCount }

  /// Reads bytes at an offset; empty after the end.
  public func bytes(at offset: UInt64, limit: Int) throws(MCAPError) -> [UInt8] {
    guard offset < byteCount else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(min(UInt64(limit), byteCount - offset)))
    try bytes.withUnsafeMutableBufferPointer { (buffer) throws(MCAPError) in
      try source.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
    return bytes
  }
}
