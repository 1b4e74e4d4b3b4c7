import Guarding
import HTTPTypes
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import Publishing
import Recording

/// The recordings of the board in service, for HTTP clients. Reading them wakes no device.
final class RecordedHistory: Sendable {
  /// The maximum number of concurrent downloads. Each one keeps its file open.
  static let downloadLimit = 8
  /// After this time a page is sent even if it is not full, so that no client waits long for a slow card or for
  /// another client.
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
    host.replay == nil ? host.hub.board.record?.path : nil
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

  /// A closure that returns whether to end a reading for a connection, because the reading has taken too long or the
  /// client has left.
  func stop(for channel: any Channel, after patience: Duration = RecordedHistory.patience) -> @Sendable () -> Bool {
    let clock = MonotonicClock()
    let end = clock.now + patience
    return { clock.now >= end || !channel.isActive }
  }

  /// Takes a slot for a download; the slot is free again when the returned value is released. If a client stops
  /// reading, `ConnectionPatience` closes its connection. Otherwise it would keep other clients out, and keep a deleted
  /// segment's bytes on the disk.
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

  /// Closes the connections of all downloads, which frees their slots.
  func releaseAll() -> Int {
    let channels = downloads.withLock { $0.map(\.channel) }
    for channel in channels { channel.close(promise: nil) }
    return channels.count
  }
}

final class DownloadSlot: Sendable {
  private let history: RecordedHistory
  private let id: HolderID

  fileprivate init(_ history: RecordedHistory, _ id: HolderID) {
    self.history = history
    self.id = id
  }

  // The response releases the slot when the download ends, even before its first byte.
  deinit { history.giveBack(id) }
}
