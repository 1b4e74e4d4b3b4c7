import Guarding
import HTTPTypes
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import Publishing
import Recording

/// The recordings of the board in service, for HTTP clients. Reading them wakes nothing.
final class RecordedHistory: Sendable {
  /// The maximum number of files that are downloaded at once. Each is open in the meantime.
  static let downloadLimit = 8
  /// After this time a page is sent even if it is not full. No client waits long for a slow card, or for another
  /// client.
  private static let patience = Duration.seconds(1)
  private static let retrySeconds = "10"

  let host: HubHost
  let threads = ReadingThreads()
  private let present = Guarded<SegmentCatalogue?>(nil)
  private let downloads = Guarded<[Download]>([])

  private struct Download {
    var id: HolderID
    var user: SlotUser
    var channel: any Channel
  }

  init(host: HubHost) {
    self.host = host
    host.slotOwners.add(self)
  }

  /// The folder in which the board in service records; `nil` if it does not record. A replay never records.
  static func folder(of host: HubHost) -> String? {
    host.replay == nil ? host.hub.value.board.record?.path : nil
  }

  /// - Throws: 404 if the board records nothing
  func catalogue() throws(HTTPError) -> SegmentCatalogue {
    guard let path = RecordedHistory.folder(of: host) else {
      throw HTTPError(.notFound, message: "this board records nothing; add 'record' to its board file")
    }
    return present.withLock { present in
      if let present, present.path == path { return present }
      let catalogue = SegmentCatalogue(path: path)
      present = catalogue
      return catalogue
    }
  }

  /// Whether the reading for a connection should end, because it has taken long or the client has left.
  func stop(for channel: any Channel, after patience: Duration = RecordedHistory.patience) -> @Sendable () -> Bool {
    let clock = MonotonicClock()
    let end = clock.now + patience
    return { clock.now >= end || !channel.isActive }
  }

  /// Takes a place for a download, which lasts as long as the value. A client that stops reading soon loses its
  /// connection (`ConnectionPatience`), because it would exclude others and keep a removed segment's bytes on the disk.
  ///
  /// - Throws: 503 if there are too many downloads, or too many of one user
  func takeSlot(for context: HTTPContext) throws(HTTPError) -> DownloadSlot {
    let download = Download(id: HolderID(), user: context.user, channel: context.channel)
    let refusal = downloads.withLock { downloads -> String? in
      let reason = download.user.refusal(to: RecordedHistory.downloadLimit, among: downloads.lazy.map(\.user))
      if reason == nil { downloads.append(download) }
      return reason
    }
    if let refusal {
      throw HTTPError(
        .serviceUnavailable, headers: [.retryAfter: RecordedHistory.retrySeconds],
        message: "no download: \(refusal)")
    }
    return DownloadSlot(self, download.id)
  }

  fileprivate func giveBack(_ id: HolderID) { downloads.withLock { $0.removeAll { $0.id == id } } }
}

extension RecordedHistory: SlotOwner {
  var slotKind: String { "downloads" }

  /// Closes the connections of all downloads, which returns their places.
  func releaseAll() -> Int {
    let channels = downloads.withLock { $0.map(\.channel) }
    for channel in channels { channel.close(promise: nil) }
    return channels.count
  }
}

/// The place of one download.
final class DownloadSlot: Sendable {
  private let history: RecordedHistory
  private let id: HolderID

  fileprivate init(_ history: RecordedHistory, _ id: HolderID) {
    self.history = history
    self.id = id
  }

  // The handler releases the place however the download ends, before its first byte or after its last.
  deinit { history.giveBack(id) }
}
