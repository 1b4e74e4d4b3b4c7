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
  /// How many files may be on their way at once: each is open for as long.
  static let downloadLimit = 8
  /// A page that is not full by then is sent as it is: no client waits long for a slow card, or for another client that
  /// does.
  private static let patience = Duration.seconds(1)
  private static let retrySeconds = "10"

  let host: HubHost
  let threads = ReadingThreads()
  private let present = Guarded<SegmentCatalogue?>(nil)
  private let downloads = Guarded<[Download]>([])

  private struct Download {
    var id: HolderID
    var user: PlaceUser
    var channel: any Channel
  }

  init(host: HubHost) {
    self.host = host
    host.placeHolders.add(self)
  }

  /// The folder in which the board in service records; `nil` if it does not. A replay has none, whatever its board file
  /// says.
  static func folder(of host: HubHost) -> String? {
    host.replay == nil ? host.hub.value.board.record?.path : nil
  }

  /// - Throws: 404 where the board records nothing
  func catalogue() throws(HTTPError) -> SegmentCatalogue {
    guard let path = RecordedHistory.folder(of: host) else {
      throw HTTPError(.notFound, message: "this board records nothing; 'record' in its board file has it do so")
    }
    return present.withLock { present in
      if let present, present.path == path { return present }
      let catalogue = SegmentCatalogue(path: path)
      present = catalogue
      return catalogue
    }
  }

  /// Whether the reading for a connection should end: it has taken long, or the client has gone.
  func stop(for channel: any Channel, after patience: Duration = RecordedHistory.patience) -> @Sendable () -> Bool {
    let clock = MonotonicClock()
    let end = clock.now + patience
    return { clock.now >= end || !channel.isActive }
  }

  /// A place, for as long as it is kept. A client that takes nothing soon loses its connection (`ConnectionPatience`):
  /// it would exclude others, and keep a removed segment's bytes on the disk.
  ///
  /// - Throws: 503 if there are too many, or too many of one user
  func takePlace(for context: HTTPContext) throws(HTTPError) -> DownloadPlace {
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
    return DownloadPlace(self, download.id)
  }

  fileprivate func giveBack(_ id: HolderID) { downloads.withLock { $0.removeAll { $0.id == id } } }
}

extension RecordedHistory: PlaceHolding {
  var placeKind: String { "downloads" }

  /// Closes their connections, which gives their places back.
  func releaseAll() -> Int {
    let channels = downloads.withLock { $0.map(\.channel) }
    for channel in channels { channel.close(promise: nil) }
    return channels.count
  }
}

/// One download's place.
final class DownloadPlace: Sendable {
  private let history: RecordedHistory
  private let id: HolderID

  fileprivate init(_ history: RecordedHistory, _ id: HolderID) {
    self.history = history
    self.id = id
  }

  // However the download ends, before its first byte or after its last, its handler releases the place.
  deinit { history.giveBack(id) }
}
