import Devices
import Glibc
import MonotonicTime
import NMEA
import Outputs
import Recording
import SystemPackage
import UBX

/// The replay of a receiver's log. A sentence or message is played at the time that it contains. If it contains none,
/// it is played with the previous one.
final class ReceiverLogReplay {
  /// The receiver's ID.
  static let device = "gps"
  /// The maximum number of sentences and messages that are read in search of a date.
  private static let mostUndated = 10_000

  /// The size in bytes beyond which a group is continued in a new one.
  private static let mostBytes = 1 << 16

  /// The sentences and messages of one time.
  private struct Group {
    var nanoseconds: Int64
    var bytes: [UInt8]

    /// Whether the bytes contain binary messages, which a client that expects sentences cannot use.
    var isBinary: Bool { bytes.contains { $0 >= 0x80 } }
  }

  /// The path in quotes, for messages.
  private let title: String
  private let file: FileDescriptor
  private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  private var framer = ReceiverFramer()
  private var clock = SentenceLogClock(date: nil)
  /// The last time that the log contains.
  private(set) var endNanosecondsSince1970: Int64 = 0
  /// The groups that have been read; the next one to play is first. The last one may be incomplete.
  private var groups: [Group] = []
  /// The sentences before the first one with a time; they are played with it.
  private var undated: [UInt8] = []
  private var lastNanoseconds: Int64?
  private var isAtEnd = false

  init(path: String) throws(CommandError) {
    title = "'\(Text.printable(path))'"
    do {
      file = try FileDescriptor.open(FilePath(path), .readOnly)
    } catch Errno.noSuchFileOrDirectory {
      throw CommandError(.noInput, "there is no file \(title)", nextStep: "give a recording, or a log of NMEA 0183")
    } catch {
      throw CommandError(.noInput, "cannot open \(title): \(error)")
    }
    let date = try firstDate()
    clock = SentenceLogClock(date: date)
    // Read the log once to find its end.
    var end: Int64?
    while try read({ stated, _ in end = clock.time(ofWhatStates: stated) ?? end }) {}
    endNanosecondsSince1970 = clock.midnightNanosecondsSince1970 + (end ?? 0)
    try rewind()
    clock = SentenceLogClock(date: date)
  }

  deinit {
    try? file.close()
    chunk.deallocate()
  }

  /// The date of the first sentences that contain one.
  private func firstDate() throws(CommandError) -> CalendarDate? {
    var date: CalendarDate?
    var hasTime = false
    while date == nil, framer.sentences.sentences + framer.messages.messages < ReceiverLogReplay.mostUndated {
      let isMore = try read { stated, _ in
        guard let stated else { return }
        hasTime = true
        date = date ?? stated.date
      }
      if !isMore { break }
    }
    guard hasTime else {
      throw CommandError(
        .data, "\(title) contains no time, so it cannot be replayed",
        nextStep: "give a hub's recording (.mcap), NMEA 0183 (lines such as $GPRMC,… or $GNGGA,…) or UBX")
    }
    try rewind()
    return date
  }

  private func rewind() throws(CommandError) {
    framer = ReceiverFramer()
    do {
      try file.seek(offset: 0, from: .start)
    } catch {
      throw CommandError(.inputOutput, "\(title) cannot be read more than once (a pipe?): \(error)")
    }
  }

  /// Reads more of the log.
  ///
  /// - Returns: whether there was more to read
  private func read(_ receive: (StatedTime?, [UInt8]) -> Void) throws(CommandError) -> Bool {
    let count: Int
    do {
      count = try file.read(into: chunk)
    } catch {
      throw CommandError(.inputOutput, "reading \(title) stopped: \(error)")
    }
    framer.push(UnsafeBufferPointer(rebasing: chunk.bindMemory(to: UInt8.self)[..<count])) { frame in
      switch frame {
      case .sentence(let raw):
        receive(Sentence(raw)?.statedTime, raw.bytes + [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
      case .message(let message): receive(message.statedTime, Array(message.bytes))
      }
    }
    return count > 0
  }

  func next() throws(CommandError) -> ReplayedMessage? {
    // The last group may continue in bytes that have not been read yet.
    while groups.count < 2, !isAtEnd {
      let isMore = try read { stated, bytes in
        guard let nanoseconds = clock.time(ofWhatStates: stated) else {
          undated += bytes
          return
        }
        // A receiver without a fix may repeat the same time for hours, so the size of a group is limited.
        if groups.last.map({ $0.nanoseconds != nanoseconds || $0.bytes.count > ReceiverLogReplay.mostBytes }) ?? true {
          groups.append(Group(nanoseconds: nanoseconds, bytes: undated))
          undated = []
        }
        groups[groups.count - 1].bytes += bytes
      }
      isAtEnd = !isMore
    }
    guard !groups.isEmpty else { return nil }
    let group = groups.removeFirst()
    defer { lastNanoseconds = group.nanoseconds }
    let at = MonotonicInstant(nanoseconds: group.nanoseconds)
    return ReplayedMessage(
      at: at, systemNanosecondsSince1970: clock.midnightNanosecondsSince1970 + group.nanoseconds,
      device: ReceiverLogReplay.device,
      content: .sentences(ReceivedBytes(bytes: group.bytes, isBinary: group.isBinary, beganAt: at, readAt: at)),
      beginsRecording: lastNanoseconds.map { group.nanoseconds < $0 } ?? false)
  }
}
