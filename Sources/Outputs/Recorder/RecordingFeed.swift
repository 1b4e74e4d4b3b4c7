import CLinux
import Fusion
import Guarding
import Hub
import MCAP
import MonotonicTime
import Publishing
import Recording

/// The data that a recording contains: information about its origin, the log, the power of each device, the fused
/// state, and the devices' measurements.
struct RecordingFeed: Sendable {
  /// Which devices a recording powers.
  enum Demand: Equatable, Sendable {
    /// Powers no device. The recording contains only the data of devices that other clients keep awake.
    case nothing
    /// Powers the devices that measure these parts of the state. Other devices are recorded while they are awake.
    case parts(Set<StatePart>)
    /// Powers all devices, fused or not.
    case everything
  }

  let host: HubHost
  let sink: JournalSink
  let time: RecordingTime
  /// The holder in whose name the recording keeps devices awake.
  let holder: Holder
  let demand: Demand

  /// The subscriptions that put a hub's data into an inbox.
  struct Listening: Sendable {
    /// The subscriptions that depend on the board.
    fileprivate let lifetime: Lifetime
    fileprivate let devices: HubRecording
    /// The subscription to states that keeps devices awake; `nil` if the recording keeps none awake.
    fileprivate let states: Subscription?

    func end() {
      lifetime.end()
      devices.end()
      states?.cancel()
    }
  }

  /// Puts the data of the board in service into an inbox.
  ///
  /// - Parameter before: the feed of the previous board for the same inbox, which this call replaces. The output of
  ///   shared receivers continues without a gap, and no shared device is switched off in between
  func listen(for inbox: RecordInbox, continuing before: Listening? = nil) -> Listening {
    let hub = host.hub
    before?.lifetime.end()
    let facts = facts
    inbox.set(facts())
    let lifetime = Lifetime()
    // A suspend makes log times jump by its duration, so measurements after it need another offset to get their dates.
    // Messages from other threads may be recorded shortly before or after the jump, so the new offset applies from the
    // middle of the jump.
    time.clock.onResume { slept in inbox.set(facts(), before: slept / 2) }.store(in: lifetime)
    func hold(_ other: Lifetime) { Subscription { other.end() }.store(in: lifetime) }
    let log = RecordedLog(in: inbox, clock: time.clock)
    sink.observe { log.append($0) }.store(in: lifetime)
    hold(RecordedPower(in: inbox, clock: time.clock).follow(hub))
    let devices = hub.record(
      to: RecordedDevices(inbox: inbox, systemClock: RecordedSystemClock(in: inbox, time: time)), as: holder,
      wakes: demand == .everything, continuing: before?.devices)
    // The states come last, because a subscription may start the fusion, and the recording must not miss any of its
    // inputs.
    if demand == .nothing { observeStates(for: inbox).store(in: lifetime) }
    return Listening(lifetime: lifetime, devices: devices, states: before?.states ?? followStates(for: inbox))
  }

  /// The origin of the recording, for the board in service now.
  var facts: @Sendable () -> [MCAPMetadata] {
    { [board = host.hub.board, boardText = host.boardText, host, time] in
      RecordedMetadata.records(board, boardText: boardText, version: host.version, time: time)
    }
  }

  /// Records the states while other clients keep devices awake.
  private func observeStates(for inbox: RecordInbox) -> Subscription {
    let receive = recording(in: inbox)
    return host.hub.observedStates
      .throttled(to: .nanoseconds(Int64(1e9 / host.hub.board.stateRateHz)), clock: time.clock)
      .subscribe(as: holder, receiveValue: receive)
  }

  /// Records the states, and keeps awake the devices that they need; `nil` if the recording powers nothing.
  private func followStates(for inbox: RecordInbox) -> Subscription? {
    let parts: Set<StatePart>
    switch demand {
    case .nothing: return nil
    case .parts(let chosen): parts = chosen
    case .everything: parts = .all
    }
    return host.hub.state(rateHz: nil, parts: parts).subscribe(as: holder, receiveValue: recording(in: inbox))
  }

  private func recording(in inbox: RecordInbox) -> @Sendable (FusedState) -> Void {
    let states = RecordedStates(in: inbox, time: time)
    return { state in
      // After the last client has left, the state no longer describes the present.
      if state.mode != .asleep { states.append(state) }
    }
  }
}

/// The metadata records about a recording's origin: the program, the board file and the calibrations.
enum RecordedMetadata {
  /// - Parameter boardText: the text of the board file; `nil` without one
  static func records(_ board: Board, boardText: [UInt8]?, version: String, time: RecordingTime) -> [MCAPMetadata] {
    var records = [
      MCAPMetadata(
        name: "sensorhub",
        entries: [
          "version": version,
          RecordingFormat.key: "\(RecordingFormat.current)",
          "started": UTCStamp(nanosecondsSince1970: time.beganNanosecondsSince1970).extended,
          // The log time minus CLOCK_MONOTONIC. With it, a reader can date the CLOCK_MONOTONIC times of measurements.
          "logTimeOffsetNanoseconds": "\(time.offsetNanoseconds)",
        ])
    ]
    if let boardText {
      records.append(MCAPMetadata(name: "board", entries: ["file": String(decoding: boardText, as: UTF8.self)]))
    }
    var calibrations: [String: String] = [:]
    for device in board.devices {
      if let calibration = device.calibration, !calibration.entries.isEmpty {
        calibrations[device.id] = calibration.json5
      }
    }
    if !calibrations.isEmpty { records.append(MCAPMetadata(name: "calibration", entries: calibrations)) }
    return records
  }
}

/// Records the lines of the log. They do not start a file, but wait until other data is written.
struct RecordedLog {
  private let channel: RecordedJSON
  private let clock: any MonotonicTimeSource

  init(in inbox: RecordInbox, clock: any MonotonicTimeSource) {
    channel = RecordedJSON("/log", .log, in: inbox)
    self.clock = clock
  }

  func append(_ entry: LogEntry) {
    channel.append(at: clock.now, isWritten: false) { json in
      json.beginObject()
      json.timestamp(nanosecondsSince1970: UInt64(clamping: clinux_realtime_ns()))
      json.member("level", RecordedLog.level(entry.priority))
      json.member("message", entry.message)
      json.member("name", entry.fields.first { $0.name == "SENSORHUB_DEVICE" }?.value ?? "sensorhub")
      json.endObject()
    }
  }

  private static func level(_ priority: JournalSink.Priority) -> Int {
    switch priority {
    case .debug: 1
    case .info, .notice: 2
    case .warning: 3
    case .error: 4
    }
  }
}

/// Records the power and the holders of each device: at first the present ones, and then each change.
struct RecordedPower {
  private let channel: RecordedJSON
  private let clock: any MonotonicTimeSource

  init(in inbox: RecordInbox, clock: any MonotonicTimeSource) {
    channel = RecordedJSON("/power", .power, in: inbox)
    self.clock = clock
  }

  func follow(_ hub: Hub) -> Lifetime {
    let lifetime = Lifetime()
    for monitor in hub.monitors {
      let isFirst = Guarded(true)
      monitor.changes.subscribe(
        as: "recorder",
        receiveValue: { [self] status in
          // The present state is not a change, so it does not start a file.
          let isChange = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return !isFirst
          }
          append(status, isChange: isChange)
        }
      ).store(in: lifetime)
    }
    return lifetime
  }

  private func append(_ status: DeviceStatus, isChange: Bool) {
    channel.append(at: clock.now, isWritten: isChange) { json in
      json.beginObject()
      json.member("id", status.id)
      json.member("kind", status.kind.rawValue)
      json.member("power", status.power.rawValue)
      json.member("reason", Text.printable(status.reason))
      json.key("holders")
      json.beginArray()
      for holder in status.holders { json.string(holder) }
      json.endArray()
      json.member("onSeconds", status.onTime.inSeconds, decimals: 3)
      json.member("wakes", status.wakes)
      json.member("energyMilliwattHours", status.energyMilliwattHours, decimals: 6)
      json.member("measuredMilliwattHours", status.measuredMilliwattHours, decimals: 6)
      json.endObject()
    }
  }
}
