import CSystemd
import Glibc
import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// Announces ports in the local network through Avahi, so that other machines find them by mDNS. Only ports that other
/// machines may connect to are announced, and none if the board file sets `announce` to false.
///
/// Without such a port there is no thread and no connection to D-Bus. Otherwise a thread sleeps until Avahi reports
/// that it has stopped or started, or that another machine has the same name.
public final class AnnouncementOutput: Service {
  /// The announcement in progress: the ports, the name under which they are announced, and the signal that stops the
  /// thread.
  private struct Present {
    var services: [Announcement] = []
    var name = ""
    var stop: StopSignal?
  }

  /// Logs the events that Avahi reports to one announcement thread.
  private final class Reporter: Sendable {
    let sink: JournalSink
    let types: String

    init(sink: JournalSink, types: String) {
      self.sink = sink
      self.types = types
    }

    func report(_ event: Int32, _ words: String) {
      let words = Text.printable(words)
      switch Int(event) {
      case Int(CSYSTEMD_ANNOUNCEMENT_MADE):
        sink.write(.notice, "announced to the network as '\(words)': \(types)")
      case Int(CSYSTEMD_ANNOUNCEMENT_ABSENT):
        sink.write(
          .notice, "not announced to the network: avahi-daemon is not running; other machines need the hub's address")
      default: sink.write(.warning, "not announced to the network: Avahi refused it: \(words)")
      }
    }
  }

  /// The maximum number of bytes in a label of DNS (RFC 6763, section 4.1.1).
  private static let longestName = 63

  private let host: HubHost
  private let sink: JournalSink
  private let present = Guarded(Present())

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "announcements", receiveValue: { [self] in announce($0.board) })
    await untilShutdown()
    boards.cancel()
    replace(with: Present())
  }

  private func announce(_ board: Board) {
    var new = Present()
    if board.isAnnounced { new.services = Announcement.all(of: board, version: host.version) }
    new.name = AnnouncementOutput.name(of: board)
    let isNews = present.withLock { $0.services != new.services || $0.name != new.name && !new.services.isEmpty }
    guard isNews else { return }
    guard !new.services.isEmpty else { return replace(with: new) }
    let stop = StopSignal()
    new.stop = stop
    let (services, name) = (new.services, new.name)
    replace(with: new)
    let error = DetachedThread.start("announcements") { [sink] in
      AnnouncementOutput.run(services, as: name, until: stop, sink)
    }
    if error != 0 { sink.write(.warning, "cannot start a thread to announce ports to the network") }
  }

  private func replace(with new: Present) {
    present.withLock { present in
      defer { present = new }
      return present.stop
    }?.set()
  }

  /// The name of the service, for example `SensorHub boat`. If it is too long for DNS, it is cut between Unicode
  /// scalars.
  static func name(of board: Board) -> String {
    var name = "SensorHub"
    for scalar in " \(Text.printable(board.name))".unicodeScalars {
      guard name.utf8.count + String(scalar).utf8.count <= longestName else { break }
      name.unicodeScalars.append(scalar)
    }
    return name
  }

  private static func run(
    _ services: [Announcement], as name: String, until stop: StopSignal, _ sink: JournalSink
  ) {
    guard let announcement = csystemd_announcement_new(name) else { return }
    defer { csystemd_announcement_free(announcement) }
    for service in services {
      guard csystemd_announcement_add(announcement, service.type, service.port, service.text) == 0 else { return }
    }
    let types = services.map { "\($0.type) \($0.port)" }.joined(separator: ", ")
    let reporter = Reporter(sink: sink, types: types)
    let result = withExtendedLifetime(reporter) {
      csystemd_announcement_run(
        announcement, stop.fileDescriptor,
        { context, event, words in
          // The context is the reporter. The thread keeps the reporter alive as long as this function can be called.
          guard let context, let words else { return }
          Unmanaged<Reporter>.fromOpaque(context).takeUnretainedValue().report(event, String(cString: words))
        }, Unmanaged.passUnretained(reporter).toOpaque())
    }
    if result < 0 {
      let reason = String(cString: strerror(-result))
      sink.write(
        .notice,
        "not announced to the network: there is no system bus (\(reason)); other machines need the hub's address")
    }
  }
}
