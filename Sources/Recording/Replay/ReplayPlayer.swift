import Devices
import Hub
import MonotonicTime
import Publishing

/// Plays recorded messages to a hub as if they came about now: sets its clocks to each message's time and hands it over.
///
/// All on the caller's thread, what the clock has due included: the same messages give the same states, byte for byte.
public struct ReplayPlayer {
  private struct Device {
    var kind: DeviceStatus.Kind
    var isSupplied: Bool
    var isHeld: Bool
    /// It has been held since, but not by those who last had the state fused.
    var isNew = false

    /// What a supply monitor is held for may be the energy of others.
    var isReasonToFuse: Bool { isHeld && kind != .supplyMonitor }
  }

  private let stage: ReplayStage
  /// What is to be added to a message's time. The hub's clock only goes forward, the times of recordings do not: each start of
  /// a board has its own, and nobody knows how long it was between them.
  private var shiftNanoseconds: Int64 = 0
  /// What is to be added to a message's time for that of the system's clock.
  private var systemAheadNanoseconds: Int64 = 0
  /// By ID, those of which anything has been said.
  private var devices: [String: Device] = [:]
  private var runCount = 0
  /// Whether the present run is one that was recorded.
  private var isRecordedRun = false
  /// What the hub knew before a run that was not.
  private var knowledge: ReplayFeed.Knowledge?

  public init(on stage: ReplayStage) { self.stage = stage }

  private var clock: ManualClock { stage.clock }
  private var feed: ReplayFeed { stage.feed }

  /// How long it is until a message's time, by the hub's clock.
  public func time(until message: ReplayedMessage) -> Duration { instant(of: message) - clock.now }

  /// Lets time pass in which nothing comes, up to a message's time.
  public func pass(_ duration: Duration, before message: ReplayedMessage) {
    clock.run(until: min(clock.now + duration, instant(of: message)))
  }

  private func instant(of message: ReplayedMessage) -> MonotonicInstant {
    // Nobody waits for what lies between two recordings.
    message.beginsRecording ? clock.now : message.at + .nanoseconds(shiftNanoseconds)
  }

  /// Sets the clocks to a message's time and hands it over.
  public mutating func play(_ message: ReplayedMessage) {
    if message.beginsRecording { begin(at: message) }
    clock.run(until: instant(of: message))
    if case .clock(let ahead) = message.content { systemAheadNanoseconds = ahead }
    stage.setSystemTime(message.systemNanosecondsSince1970.clampedSum(systemAheadNanoseconds))
    switch message.content {
    case .power(let kind, let isSupplied, let isHeld):
      note(Device(kind: kind, isSupplied: isSupplied, isHeld: isHeld), message.device)
    case .fusion(let isUnderWay, let tellsEpochs):
      isRecordedRun = isUnderWay
      if isUnderWay {
        endOwnRun()
        feed.tellsEpochs = tellsEpochs
      }
      setRun(begins: isUnderWay)
      // What is left of the run is told as well.
      if !isUnderWay { feed.tellsEpochs = false }
      // They are let go in a moment, or are held for something else.
      for id in devices.keys { devices[id]?.isNew = false }
    case .epoch(let at): feed.fuse(epochAt: at + .nanoseconds(shiftNanoseconds), of: message.device)
    case .clock: break
    case .board(let board): if stage.board.value != board { stage.board.value = board }
    default:
      // Of what was on before the recording began nothing is said until it changes, and that a device was supplied may have been
      // written down a little after the first that it said.
      if devices[message.device]?.isSupplied != true, let kind = message.content.kind {
        note(Device(kind: kind, isSupplied: true, isHeld: true), message.device)
      }
      beginOwnRun(for: message.device)
      hand(message.content, to: message.device)
    }
  }

  private mutating func note(_ device: Device, _ id: String) {
    // Whoever subscribes then is there before the first measurement, and gone before the device is off.
    let before = devices[id]
    devices[id] = device
    devices[id]?.isNew = device.isHeld && (before?.isHeld != true || before?.isNew == true)
    let held = devices.filter { $0.value.isHeld }
    var demand = stage.demand.value
    demand.devices = Set(held.keys)
    demand.supplied = Set(devices.filter { $0.value.isSupplied }.keys)
    if stage.demand.value != demand { stage.demand.value = demand }
    if !isRecordedRun, !held.values.contains(where: \.isReasonToFuse) { setRun(begins: false) }
    feed.set(isSupplied: device.isSupplied, device.kind, id)
  }

  /// What nobody had fused although it was measured for somebody is fused in a replay.
  private mutating func beginOwnRun(for id: String) {
    guard !isRecordedRun, stage.demand.value.run == nil, let device = devices[id], device.isNew, device.isReasonToFuse
    else { return }
    knowledge = knowledge ?? feed.knowledge
    setRun(begins: true)
  }

  /// What was fused here alone is not known to those who had the state fused then.
  private mutating func endOwnRun() {
    guard let knowledge else { return }
    setRun(begins: false)
    feed.restore(knowledge)
    self.knowledge = nil
  }

  private mutating func setRun(begins: Bool) {
    if begins {
      runCount += 1
      stage.demand.value.run = runCount
    } else if stage.demand.value.run != nil {
      stage.demand.value.run = nil
    }
  }

  private func hand(_ content: ReplayedMessage.Content, to id: String) {
    let shift = Duration.nanoseconds(shiftNanoseconds)
    switch content {
    case .sentences(var sentences):
      sentences.beganAt = sentences.beganAt + shift
      sentences.readAt = sentences.readAt + shift
      feed.receiver(id).send(sentences)
    case .batch(var batch):
      if shiftNanoseconds != 0 { batch.shift(by: shift) }
      feed.imu(id).send(batch)
    case .magneticField(var sample):
      sample.at = sample.at + shift
      feed.magnetometer(id).send(sample)
    case .air(var sample):
      sample.at = sample.at + shift
      feed.barometer(id).send(sample)
    case .supply(var sample):
      sample.at = sample.at + shift
      feed.supplyMonitor(id).send(sample)
    case .power, .fusion, .epoch, .clock, .board: break
    }
  }

  /// Nothing is said any more of what is on.
  public mutating func end() {
    // Whoever gathers a value for the end of an interval still gets it.
    clock.run(until: clock.now + .seconds(1))
    switchOff()
  }

  private mutating func begin(at message: ReplayedMessage) {
    switchOff()
    feed.begin()
    let instant = message.at + .nanoseconds(shiftNanoseconds)
    let offset = message.systemNanosecondsSince1970 &- instant.nanoseconds
    func isOffset(_ other: Int64) -> Bool { (offset &- other).magnitude < 1_000_000_000 }
    let before = stage.systemTimeOffsetNanoseconds
    let isSame = isOffset(before &- systemAheadNanoseconds)
    // A hub that was started again begins with the clock as it had been set.
    if !isSame { systemAheadNanoseconds = 0 }
    // That, or what comes later in the same recording: its clock has gone on meanwhile.
    if instant >= clock.now, isSame || isOffset(before) {
      clock.run(until: instant)
    } else {
      shiftNanoseconds = clock.now.nanoseconds &- message.at.nanoseconds
    }
  }

  private mutating func switchOff() {
    stage.demand.value = ReplayDemand()
    isRecordedRun = false
    feed.tellsEpochs = false
    knowledge = nil
    for (id, device) in devices.sorted(by: { $0.key < $1.key }) {
      feed.set(isSupplied: false, device.kind, id)
    }
    devices = [:]
  }
}
