import Devices
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import NMEA
import Publishing

/// Fetches the corrections of one receiver while the receiver is read. The client has a thread only during that time.
final class CorrectionClient: Sendable {
  /// A visit counts as lasting if its last correction came at least this long after its start. After such a visit the
  /// next pause is short again, and the first caster is tried next.
  private static let lasting = Duration.seconds(10)

  private struct State {
    var status: CorrectionStatus
    var isWanted = false
    var isRunning = false
    /// Whether this client has been replaced or removed.
    var isOver = false
    var backoff = ReconnectBackoff()
    /// The earliest time of the next request. Without it, each subscriber that comes and goes would cause a request.
    var nextTry: MonotonicInstant?
    /// The index in `caster.inOrder` of the caster to try next.
    var index = 0
  }

  let id: String
  let caster: CasterSettings
  let corrections: ReceiverCorrections
  private let sink: JournalSink
  private let version: String
  private let patience: CasterVisit.Patience
  private let clock: any MonotonicTimeSource
  private let state: Guarded<State>
  /// Wakes the thread, which then checks what to do.
  private let wake = WakeSignal()
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - id: the receiver's ID
  ///   - version: the version of this program
  init(
    _ id: String, _ caster: CasterSettings, _ corrections: ReceiverCorrections, sink: JournalSink, version: String,
    patience: CasterVisit.Patience = .init(), clock: any MonotonicTimeSource = MonotonicClock()
  ) {
    self.id = id
    self.caster = caster
    self.corrections = corrections
    self.sink = sink
    self.version = version
    self.patience = patience
    self.clock = clock
    let status = CorrectionStatus(source: "\(caster)")
    state = Guarded(State(status: status))
    corrections.note(status)
    // The age of the last correction includes the time for which the machine was suspended.
    clock.onResume { [weak self] slept in self?.note { $0.lastAt?.moveBack(by: slept) } }.store(in: lifetime)
  }

  /// Starts or stops fetching. Returns at once.
  func want(_ isWanted: Bool) {
    let isFirst = state.withLock { state in
      guard !state.isOver, state.isWanted != isWanted else { return false }
      state.isWanted = isWanted
      defer { if isWanted { state.isRunning = true } }
      return isWanted && !state.isRunning
    }
    wake.raise()
    guard isFirst else { return }
    let error = DetachedThread.start("corrections") { [self] in run() }
    guard error != 0 else { return }
    state.withLock { $0.isRunning = false }
    warn("no corrections from \(caster): cannot start a thread for the connection")
  }

  /// Stops permanently. Work that is still in progress reports nothing more.
  func end() {
    state.withLock { state in
      state.isWanted = false
      state.isOver = true
    }
    wake.raise()
  }

  // MARK: On its thread

  private func run() {
    let poller = Poller(stop: wake.fileDescriptor, clock: clock)
    while true {
      wake.clear()
      let (goesOn, nextTry) = state.withLock { state in
        if !state.isWanted { state.isRunning = false }
        return (state.isWanted, state.nextTry)
      }
      if !goesOn { return note { $0.phase = .off } }
      if let rest = nextTry.map({ $0 - clock.now }), rest > .zero {
        note { $0.phase = .waiting }
        if poller.wait(for: nil, atMost: rest) == .stopped { continue }
      }
      note { $0.phase = .connecting }
      visit(poller)
    }
  }

  private func visit(_ poller: Poller) {
    let startedAt = clock.now
    let casters = caster.inOrder
    let current = casters[state.withLock { min($0.index, casters.count - 1) }]
    note { $0.source = "\(current)" }
    let before = state.withLock { $0.status }
    let error: CasterError
    do throws(CasterError) {
      let visit = CasterVisit(
        caster: current, password: try password(of: current), version: version, patience: patience, poller: poller,
        clock: clock,
        position: { [corrections] in corrections.lastFix.flatMap { PositionSentence.make(of: $0) } })
      error = visit.run { take($0, from: current) }
    } catch let thrown {
      error = thrown
    }
    let after = state.withLock { $0.status }
    sayFarewell(to: current, since: before, after, over: clock.now - startedAt)
    if error == .stopped { return }
    let lasted = after.lastAt.map { $0 - startedAt >= CorrectionClient.lasting } ?? false
    state.withLock { state in
      if lasted { state.backoff.reset() }
      if !lasted, state.index + 1 < casters.count {
        // Try the next caster at once: it may be better, and has not been tried yet.
        state.index += 1
        state.nextTry = nil
        return
      }
      state.index = 0
      let wait = error.isRefusal ? state.backoff.afterRefusal() : state.backoff.next()
      state.nextTry = clock.now + wait
    }
    let text = error.text(of: current)
    note { status in
      status.phase = .waiting
      status.reason = text
    }
    warn(text)
  }

  private func take(_ event: CasterVisit.Event, from current: CasterSettings) {
    switch event {
    case .connected:
      note { status in
        status.phase = .connected
        status.connections += 1
      }
    case .bytes(let count): note { $0.bytes += count }
    case .message(let number, let bytes):
      let now = clock.now
      var isFirst = false
      let base = BaseStation.place(number, bytes)
      let distance = base.map { BaseStation.distance(of: $0, from: corrections.lastFix) }
      note { status in
        if let distance { status.baseDistanceMetres = distance }
        isFirst = status.phase != .receiving
        status.phase = .receiving
        status.reason = nil
        status.messages[number, default: 0] += 1
        status.lastAt = now
      }
      if isOver { return }
      corrections.queue.put(bytes)
      guard isFirst else { return }
      sink.write(.notice, "\(id): corrections come from \(current)", fields: fields)
      warn(nil)
    }
  }

  /// Sets the warning, unless this client has ended. Then its successor sets the warning, or removes it.
  private func warn(_ text: String?) {
    let mustDeliver = state.withLock { $0.isOver ? false : corrections.stageWarning(text) }
    if mustDeliver { corrections.deliverWarning() }
  }

  private var isOver: Bool { state.withLock { $0.isOver } }

  private func note(_ change: (inout CorrectionStatus) -> Void) {
    let mustDeliver = state.withLock { state in
      change(&state.status)
      return state.isOver ? false : corrections.stage(state.status)
    }
    if mustDeliver { corrections.deliver() }
  }

  private func password(of current: CasterSettings) throws(CasterError) -> String {
    guard current.username != nil else { return "" }
    if let file = caster.passwordFile, let reason = SecretFile.refusal(ofBoards: file) {
      throw .unreadablePassword(file: file, reason: reason)
    }
    do throws(SecretFile.Failure) {
      let found = try SecretFile.read(caster.passwordFile, orCredential: "ntrip-password")
      return found.map { String(decoding: $0.secret, as: UTF8.self) } ?? ""
    } catch {
      throw .unreadablePassword(file: error.file, reason: error.reason)
    }
  }

  private func sayFarewell(
    to current: CasterSettings, since before: CorrectionStatus, _ after: CorrectionStatus, over time: Duration
  ) {
    let count = after.messageCount - before.messageCount
    if count == 0 { return }
    let kinds = after.messages.filter { $0.value > before.messages[$0.key] ?? 0 }.keys.sorted()
    sink.write(
      .notice,
      "\(id): no more corrections from \(current): \(count) messages (\(kinds.map(String.init).joined(separator: ", "))), "
        + "\(after.bytes - before.bytes) bytes in \(Text.duration(seconds: time.inSeconds))", fields: fields)
  }

  private var fields: [JournalSink.Field] { [.init("SENSORHUB_EVENT", "corrections"), .init("SENSORHUB_DEVICE", id)] }
}

/// The sentence that tells a caster the receiver's position, so that the caster can compute corrections for it.
enum PositionSentence {
  /// A GGA sentence; `nil` while the position or the time is unknown.
  static func make(of fix: GNSSFix) -> String? {
    guard fix.mode >= .twoDimensional, let place = fix.position, let time = fix.time else { return nil }
    let satellites = fix.satellitesUsed.map { SentenceField.padded(Int($0), 2) } ?? ""
    let age = fix.differentialAgeSeconds.map { SentenceField.fixed($0, 1) } ?? ""
    let station = fix.differentialStation.map { SentenceField.padded(Int($0), 4) } ?? ""
    var fields: [String] = []
    fields.append(SentenceField.time(time))
    fields.append(SentenceField.coordinate(place.latitudeDegrees, place.longitudeDegrees))
    fields.append("\(FixLetter.quality(ofStatus: Int(fix.status.rawValue)))")
    fields.append(satellites)
    fields.append(SentenceField.fixed(fix.hdop ?? 1, 1))
    fields += [SentenceField.fixed(fix.altitudeMSLMetres ?? 0, 1), "M"]
    fields += [SentenceField.fixed(fix.geoidSeparationMetres ?? 0, 1), "M"]
    fields += [age, station]
    return SentenceWriter.make("GPGGA,\(fields.joined(separator: ","))")
  }
}

/// The position of the base station's antenna, from RTCM 3's messages 1005 and 1006 (RTCM 10403.3, tables 3.5-6 and
/// 3.5-7).
enum BaseStation {
  /// The position in earth-centred axes, metres; `nil` for a message of another type, or one that is too short.
  ///
  /// - Parameters:
  ///   - number: the message type
  ///   - frame: the whole message, with its header of three bytes
  static func place(_ number: UInt16, _ frame: [UInt8]) -> SIMD3<Double>? {
    guard number == 1005 || number == 1006, frame.count >= 3 + 19 else { return nil }
    func coordinate(_ bit: Int) -> Double {
      // The value is a signed number of 38 bits, in tenths of a millimetre.
      var value: Int64 = 0
      for index in bit..<bit + 38 {
        value = value << 1 | Int64(frame[3 + index / 8] >> UInt8(7 - index % 8) & 1)
      }
      if value >= 1 << 37 { value -= 1 << 38 }
      return Double(value) * 1e-4
    }
    return SIMD3(coordinate(34), coordinate(74), coordinate(114))
  }

  /// The distance between base station and receiver, in metres; `nil` if the receiver has no position, or if the base
  /// station's is not between 6,000 and 60,000 km from the Earth's centre.
  static func distance(of place: SIMD3<Double>, from fix: GNSSFix?) -> Double? {
    guard let fix, fix.mode >= .twoDimensional, let position = fix.position, EarthCentredPoint(place) != nil else {
      return nil
    }
    let height = fix.altitudeHAEMetres ?? (fix.altitudeMSLMetres ?? 0) + (fix.geoidSeparationMetres ?? 0)
    let way = place - EarthCentredPoint(position, altitudeHAEMetres: height).metres
    return (way * way).sum().squareRoot()
  }
}
