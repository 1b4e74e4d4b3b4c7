import FoundationEssentials
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// Recordings for clients that request one. The request is a line of JSON, and the answer is a complete MCAP file. The
/// file ends when the client closes its sending side or leaves, or when the hub ends or all recordings are released.
final class RecordOutput: StreamOutput {
  /// The maximum number of recordings at a time. Each one has a thread, and up to a megabyte of waiting data.
  static let places = 4
  /// How long an ending hub waits for clients to read the ends of their files.
  private static let lastChance = Duration.seconds(5)

  /// The reason why a client gets no recording.
  struct Refusal: Error {
    var reason: String
  }

  private struct Slot {
    var recording: ClientRecording
    var user: SlotUser
  }

  private let host: HubHost
  private let sink: JournalSink
  private let recordings = Guarded<[Slot]>([])
  /// A signal that is raised when a recording is over. `waitForEnds` waits for it.
  private let change = WakeSignal()

  init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
    host.slotOwners.add(self)
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? { RecordSession(connection, of: self) }

  /// Begins to record for the client of a connection. The server keeps and closes the connection's descriptor. The
  /// recorder's thread, which may wait for the client, writes to a duplicate of it.
  fileprivate func begin(_ request: RecordRequest, for connection: StreamConnection) throws(Refusal) -> ClientRecording
  {
    if host.replay != nil {
      // Replayed data has the times of its original recording, so a replay is not recorded again.
      throw Refusal(
        reason: "a replay cannot be recorded: to copy a part of a recording, use sensorhub export --format mcap")
    }
    let descriptor = fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else {
      host.traffic.record.clientRefused()
      throw Refusal(reason: "the hub has reached its limit of open files")
    }
    let recording = ClientRecording(
      host: host, sink: sink,
      holder: (request.name.flatMap(connection.peer.called) ?? connection.peer).holder(),
      descriptor: descriptor, whenOver: { [weak self] in self?.forget($0) })
    let user = SlotUser(account: UnixSocket.guest(connection.descriptor).user)
    let refusal = recordings.withLock { recordings -> String? in
      let reason = user.refusal(to: RecordOutput.places, among: recordings.lazy.map(\.user))
      if reason == nil { recordings.append(Slot(recording: recording, user: user)) }
      return reason
    }
    if let refusal {
      close(descriptor)
      host.traffic.record.clientRefused()
      throw Refusal(reason: "no recording: \(refusal)")
    }
    recording.begin(request)
    return recording
  }

  private func forget(_ recording: ClientRecording) {
    recordings.withLock { $0.removeAll { $0.recording === recording } }
    change.raise()
  }

  /// Returns once all clients have their complete files, or `lastChance` is over. Call this after all recordings have
  /// ended.
  func waitForEnds() {
    let clock = MonotonicClock()
    let deadline = clock.now + RecordOutput.lastChance
    let poller = Poller(stop: -1)
    while recordings.withLock({ !$0.isEmpty }), clock.now < deadline {
      if poller.wait(for: change.fileDescriptor, atMost: deadline - clock.now) == .readable { change.clear() }
    }
  }
}

extension RecordOutput: SlotOwner {
  var slotKind: String { "recordings" }

  /// Ends all recordings. The clients still receive complete files.
  func releaseAll() -> Int {
    let recordings = recordings.withLock { $0.map(\.recording) }
    for recording in recordings { recording.end() }
    return recordings.count
  }
}

/// A client of `record.sock`. It sends one request; later bytes are ignored.
private final class RecordSession: StreamSession {
  private struct State {
    var pending: [UInt8] = []
    var hasAsked = false
    var recording: ClientRecording?
  }

  private let connection: StreamConnection
  private let output: RecordOutput
  private let state = Guarded(State())

  init(_ connection: StreamConnection, of output: RecordOutput) {
    self.connection = connection
    self.output = output
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let line = state.withLock({ RecordSession.take(bytes, &$0) }) else { return }
    let read: RecordRequest?
    do throws(RequestKey.Unknown) {
      read = try RecordRequest.read(line)
    } catch {
      return refuse("\(error)")
    }
    guard let request = read else { return refuse(RecordRequest.help) }
    do throws(RecordOutput.Refusal) {
      let recording = try output.begin(request, for: connection)
      state.withLock { $0.recording = recording }
    } catch {
      refuse(error.reason)
    }
  }

  /// Adds bytes to the request, and returns the request once it is complete.
  private static func take(_ bytes: UnsafeBufferPointer<UInt8>, _ state: inout State) -> [UInt8]? {
    guard !state.hasAsked else { return nil }
    state.pending += bytes
    let end = state.pending.firstIndex(of: UInt8(ascii: "\n"))
    guard end != nil || state.pending.count > RecordRequest.maximumLength else { return nil }
    state.hasAsked = true
    defer { state.pending = [] }
    return Array(state.pending[..<(end ?? 0)])
  }

  private func refuse(_ reason: String) {
    var json = JSONWriter(capacity: 512)
    json.beginObject()
    json.member("class", "ERROR")
    json.member("message", reason)
    json.endObject()
    json.endLine()
    connection.answer(json.bytes)
    connection.hangUp()
  }

  func end() {
    let recording = state.withLock { state in
      defer { state.recording = nil }
      return state.recording
    }
    recording?.end()
  }
}

/// A request on `record.sock`, a JSON object in one line, for example `{"name": "record", "wakes": true, "syncSeconds":
/// 1}`.
struct RecordRequest: Decodable {
  /// The longest request, in bytes.
  static let maximumLength = 4096
  /// The text for a client whose request is invalid.
  static let help =
    #"send one line: {"name": "name of your program", "wakes": false to observe only, "parts": some of [\#(Set<StatePart>.all.names)] "#
    + #"to wake only their devices, "syncSeconds": 0.1 to 60}"#

  var name: String?
  /// Whether the recording powers the devices; `nil` counts as `true`.
  var wakes: Bool?
  var parts: [String]?
  /// The longest time that data may wait before it is sent, in seconds, from 0.1 to 60; `nil` counts as 1.
  var syncSeconds: Double?

  private enum CodingKeys: String, CodingKey, CaseIterable { case name, wakes, parts, syncSeconds }

  init(from decoder: any Decoder) throws {
    try RequestKey.require(CodingKeys.allCases.map(\.rawValue), in: decoder)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decodeIfPresent(String.self, forKey: .name)
    wakes = try values.decodeIfPresent(Bool.self, forKey: .wakes)
    parts = try values.decodeIfPresent([String].self, forKey: .parts)
    syncSeconds = try values.decodeIfPresent(Double.self, forKey: .syncSeconds)
  }

  /// Reads a request.
  ///
  /// - Returns: the request; `nil` if the line is not a valid request
  /// - Throws: `RequestKey.Unknown` if the request has an unknown key
  static func read(_ line: some Collection<UInt8>) throws(RequestKey.Unknown) -> RecordRequest? {
    let request: RecordRequest
    do {
      request = try JSONDecoder().decode(RecordRequest.self, from: Data(line))
    } catch let unknown as RequestKey.Unknown {
      throw unknown
    } catch {
      return nil
    }
    guard request.syncSeconds.map({ (0.1...60).contains($0) }) ?? true,
      request.parts.map({ Set<StatePart>(names: $0) != nil }) ?? true
    else { return nil }
    return request
  }

  var syncInterval: Duration { .nanoseconds(Int64((syncSeconds ?? 1) * 1e9)) }

  var demand: RecordingFeed.Demand {
    if wakes == false { return .nothing }
    return parts.flatMap { Set<StatePart>(names: $0) }.map { .parts($0) } ?? .everything
  }
}
