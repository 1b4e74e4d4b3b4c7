import FoundationEssentials
import MCAP
import NMEA

/// A recorded change of a device's power.
public struct PowerChange: Equatable, Sendable {
  public var id: String
  /// The power, in the words of a device's status. It is `unknown` after the end of a recording if the device was on.
  public var power: String
  public var time: UTCTime
  public var reason: String?
  public var holders: [String]
}

/// The power of devices in a period.
public struct PowerPage: Equatable, Sendable {
  /// The changes. The first ones may be older than the period: they give the last known state before it.
  public var changes: [PowerChange] = []
  /// The time of the next page; `nil` if there is none.
  public var next: UTCTime?
}

extension SegmentCatalogue {
  /// The maximum number of chunks in which the state before the period is searched.
  private static let chunkCountBefore = 32

  /// The changes in a period, about `limit` of them. All changes of one instant are on the same page.
  ///
  /// - Parameters:
  ///   - ids: the devices whose state before the period is needed
  ///   - isStopped: called repeatedly; the page ends when it returns true
  public func power(
    of ids: Set<String>, in times: Range<UTCTime>, limit: Int, isStopped: () -> Bool = { false }
  ) -> PowerPage {
    let segments = segments.filter { $0.times != nil }
    var page = PowerPage()
    var present: [String: String] = [:]
    for change in standing(of: ids, at: times.lowerBound, segments) {
      present[change.id] = change.power
      page.changes.append(change)
    }
    var last: Segment?
    var lastTime = times.lowerBound
    for segment in segments {
      guard let file = segment.file, let recorded = segment.times, recorded.lowerBound < times.upperBound
      else { continue }
      if let last, last.started != segment.started { note(endOf: last, in: times, &present, &page) }
      last = segment
      guard recorded.upperBound >= times.lowerBound else { continue }
      var messages = RecordedMessages([file], in: times) { $0 == "/power" }
      while let message = try? messages.next() {
        guard let change = RecordedPowerState(message.data)?.change(at: messages.time(of: message)) else { continue }
        if present[change.id] == change.power { continue }
        // All events of one instant must be on the same page, because the next page begins at an instant.
        if change.time > lastTime, page.changes.count >= limit || isStopped() {
          page.next = change.time
          return page
        }
        lastTime = change.time
        present[change.id] = change.power
        page.changes.append(change)
      }
    }
    if let last, !last.isBeingWritten { note(endOf: last, in: times, &present, &page) }
    return page
  }

  /// Marks devices that were on at the end of a recording as `unknown`. Devices that were off, asleep or failed are
  /// left as they were.
  private func note(
    endOf segment: Segment, in times: Range<UTCTime>, _ present: inout [String: String], _ page: inout PowerPage
  ) {
    guard let end = segment.times?.upperBound, times.contains(end) else { return }
    for (id, power) in present.sorted(by: { $0.key < $1.key }) where !RecordedPowerState.rests.contains(power) {
      page.changes.append(PowerChange(id: id, power: "unknown", time: end, reason: nil, holders: []))
      present[id] = "unknown"
    }
  }

  /// The last change of each device before an instant, from the recording that was in progress then; empty if there was
  /// none.
  private func standing(of ids: Set<String>, at instant: UTCTime, _ segments: [Segment]) -> [PowerChange] {
    let earlier = segments.filter { ($0.times?.lowerBound).map { $0 < instant } ?? false }
    guard let started = earlier.last?.started else { return [] }
    let lasts = segments.last { $0.started == started }?.times?.upperBound
    guard let lasts, lasts >= instant else { return [] }
    var found: [String: PowerChange] = [:]
    var chunkCount = 0
    for segment in earlier.reversed() where segment.started == started {
      guard let file = segment.file, let correction = file.correctionNanoseconds, let reader = try? file.open()
      else { continue }
      let channels = reader.summary.channelIDs(ofTopics: ["/power"])
      let end = UInt64(clamping: instant.nanosecondsSince1970.clampedSum(-correction))
      for chunk in reader.summary.chunks.reversed()
      where chunk.startTimeNanoseconds < end && chunk.mayHave(channels) {
        if chunkCount == SegmentCatalogue.chunkCountBefore || ids.isSubset(of: found.keys) { break }
        chunkCount += 1
        // The times in a damaged file may be invalid.
        guard chunk.startTimeNanoseconds <= chunk.endTimeNanoseconds, chunk.endTimeNanoseconds < .max else { continue }
        let times = chunk.startTimeNanoseconds..<min(end, chunk.endTimeNanoseconds + 1)
        var inChunk: [String: PowerChange] = [:]
        var messages = reader.messages(in: times, channelIDs: channels)
        while let message = try? messages.next() {
          let time = Int64(clamping: message.logTimeNanoseconds).clampedSum(correction)
          guard let change = RecordedPowerState(message.data)?.change(at: UTCTime(nanosecondsSince1970: time))
          else { continue }
          inChunk[change.id] = change
        }
        found.merge(inChunk) { later, _ in later }
      }
    }
    return found.values.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
  }
}

extension MCAPChunkIndex {
  /// Whether a chunk may contain messages of these channels.
  fileprivate func mayHave(_ ids: Set<UInt16>) -> Bool {
    channels.isEmpty || channels.contains { ids.contains($0.channelID) }
  }
}

/// The parts of a message on the topic `/power` that are used.
struct RecordedPowerState: Decodable {
  /// The power states in which a device is not known to be on.
  static let rests: Set<String> = ["off", "asleep", "failed", "unknown"]

  var id: String
  var power: String
  var reason: String?
  var holders: [String]?

  /// `nil` if the data is invalid.
  init?(_ data: ArraySlice<UInt8>) {
    guard let power = try? JSONDecoder().decode(RecordedPowerState.self, from: Data(data)) else { return nil }
    self = power
  }

  func change(at time: UTCTime) -> PowerChange {
    PowerChange(id: id, power: power, time: time, reason: reason, holders: holders ?? [])
  }
}
