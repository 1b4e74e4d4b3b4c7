import MonotonicTime

/// A receiver without its line. The owner of the value supplies the time and the events.
struct ReceiverMachine: Sendable {
  private static let mostCommands = 1000

  private(set) var body: ReceiverBody
  private var receiverProtocol: any ReceiverProtocol
  private var scanner = CommandScanner()
  private var garbling = Noise(seed: 7)
  private(set) var isSupplied = false
  private var supplyReturns: MonotonicInstant?
  /// The number of frame errors since the last boot.
  private(set) var frameErrors = 0
  private(set) var isDeaf = false
  /// The most recent commands that the receiver has understood.
  private(set) var commands: [CommandName] = []

  init(_ body: ReceiverBody, _ receiverProtocol: any ReceiverProtocol) {
    self.body = body
    self.receiverProtocol = receiverProtocol
    scanner.takesLines = receiverProtocol.takesLines
  }

  /// When the next event happens, if no input arrives before it.
  var nextEvent: MonotonicInstant? {
    ([supplyReturns, body.phaseEnds, body.nextEpoch] + body.outgoing.map(\.due)).compactMap { $0 }.min()
  }

  mutating func change(_ faults: (inout ReceiverFaults) -> Void) { faults(&body.faults) }

  mutating func leave(at speed: Int) { receiverProtocol.leave(at: speed, &body) }

  // MARK: Supply

  mutating func setSupply(_ isOn: Bool, at now: MonotonicInstant) {
    run(until: now)
    guard isOn != isSupplied else { return }
    isSupplied = isOn
    supplyReturns = nil
    if isOn { boot() } else { losePower() }
  }

  private mutating func losePower() {
    body.turnOff()
    receiverProtocol.lostPower(isBackedUp: body.configuration.hasBackupSupply)
    scanner.clear()
  }

  private mutating func boot() {
    (frameErrors, isDeaf) = (0, false)
    scanner.clear()
    body.boot()
  }

  // MARK: Time

  /// Processes all events up to an instant, in order.
  mutating func run(until now: MonotonicInstant) {
    while true {
      let own = [supplyReturns, body.phaseEnds, body.nextEpoch].compactMap { $0 }.min()
      guard let own, own <= now else { break }
      body.pass(until: own)
      happen()
    }
    body.pass(until: now)
  }

  private mutating func happen() {
    if let supplyReturns, supplyReturns <= body.now {
      self.supplyReturns = nil
      return boot()
    }
    if let end = body.phaseEnds, end <= body.now { return endPhase() }
    let solution = body.solve()
    receiverProtocol.report(solution, &body)
  }

  private mutating func endPhase() {
    switch body.phase {
    case .booting:
      // The frame errors are counted again from each boot.
      (frameErrors, isDeaf) = (0, false)
      receiverProtocol.begin(&body)
      if body.phase == .booting { body.search() }
    case .searching: body.gotFix()
    case .standby: receiverProtocol.wake(&body)
    case .backup: boot()
    case .off, .tracking, .stopped: break
    }
  }

  // MARK: Line

  /// Receives bytes that were sent to the receiver.
  ///
  /// - Parameter speed: the line speed of the bytes; `nil` for a speed that no receiver has
  mutating func hear(_ bytes: [UInt8], at speed: Int?, now: MonotonicInstant) {
    run(until: now)
    switch body.phase {
    case .off, .booting: return
    case .standby: if body.wakesByBytes { receiverProtocol.wake(&body) }
    case .backup: if body.wakesByBytes { boot() }
    case .searching, .tracking, .stopped: listen(bytes, speed)
    }
  }

  private mutating func listen(_ bytes: [UInt8], _ speed: Int?) {
    guard !isDeaf else { return }
    guard speed == body.speed else {
      scanner.clear()
      frameErrors += bytes.count
      if receiverProtocol.isDeafened(by: frameErrors) {
        isDeaf = true
        body.say(receiverProtocol.deafNote())
      }
      return
    }
    for command in scanner.scan(bytes) where body.phase.isAwake { take(command) }
  }

  private mutating func take(_ command: ReceivedCommand) {
    commands.append(command.name)
    if commands.count > ReceiverMachine.mostCommands { commands.removeFirst() }
    if let count = body.faults.commandsUntilPowerLoss {
      guard count > 0 else {
        body.faults.commandsUntilPowerLoss = nil
        losePower()
        supplyReturns = body.now + body.faults.powerLoss
        return
      }
      body.faults.commandsUntilPowerLoss = count - 1
    }
    if body.faults.ignored.contains(command.name) { return }
    if let bytes = body.faults.substituted[command.name] { return body.answer(bytes) }
    if body.faults.refused.contains(command.name) { return receiverProtocol.refuse(command, &body) }
    if case .correction = command.name { body.takeCorrection() }
    receiverProtocol.take(command, &body)
    if body.phase == .booting { boot() }
  }

  /// The pieces of output due now, as they arrive at the speed of the line. At any speed other than the receiver's own,
  /// the pieces are garbled.
  mutating func takePieces(speed: Int?) -> [[UInt8]] {
    body.takeOutgoing().map { $0.speed == speed ? $0.bytes : garbled($0, speed ?? $0.speed) }
  }

  private mutating func garbled(_ piece: ReceiverBody.Outgoing, _ speed: Int) -> [UInt8] {
    // At another speed, several bits are read as one or one bit as several.
    let count = max(1, min(4 * piece.bytes.count, piece.bytes.count * speed / piece.speed))
    return (0..<count).map { _ in UInt8(garbling.uniform() * 255) | 0x80 }
  }
}

/// The activity of a receiver, which determines its current.
public enum ReceiverPhase: String, CaseIterable, Sendable {
  case off
  /// The receiver has its supply, but cannot send or receive yet.
  case booting
  case searching
  case tracking
  /// The radio is off by command; commands are still answered.
  case stopped
  /// The receiver sleeps, and keeps its RAM.
  case standby
  /// The receiver sleeps. Only its clock and backup RAM have a supply.
  case backup

  var isAwake: Bool { self == .searching || self == .tracking || self == .stopped }
}

/// The charge that a receiver has drawn from its supply and its backup pin together.
public struct ReceiverCharge: Sendable {
  public private(set) var coulombs = 0.0
  /// The time spent in each phase.
  public private(set) var durations: [ReceiverPhase: Duration] = [:]
  private var last: MonotonicInstant

  init(at now: MonotonicInstant) { last = now }

  mutating func draw(_ amperes: Double, in phase: ReceiverPhase, until now: MonotonicInstant) {
    guard now > last else { return }
    coulombs += amperes * now.seconds(since: last)
    durations[phase, default: .zero] += now - last
    last = now
  }
}

/// The protocol of a maker's receivers. Each call receives the `ReceiverBody`, which contains the parts that all
/// receivers share.
protocol ReceiverProtocol: Sendable {
  /// Called when the receiver has booted, after its supply came on, after a reset, or after a sleep that loses its
  /// settings.
  mutating func begin(_ body: inout ReceiverBody)
  /// Called when a complete command has arrived.
  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody)
  /// Rejects a command in the manner of the protocol.
  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody)
  /// Sends the messages of an epoch.
  mutating func report(_ solution: Solution, _ body: inout ReceiverBody)
  /// Called when standby ends, after its duration or by bytes on the UART.
  mutating func wake(_ body: inout ReceiverBody)
  /// Whether a receiver of this kind ignores its input after this number of frame errors.
  func isDeafened(by frameErrors: Int) -> Bool
  /// The message with which a receiver announces that it ignores its input.
  func deafNote() -> [UInt8]
  /// Called when the main supply has gone off. The backup supply is off as well unless `isBackedUp`.
  mutating func lostPower(isBackedUp: Bool)
  /// Called when another program has permanently changed the speed of the port.
  mutating func leave(at speed: Int, _ body: inout ReceiverBody)
  /// Whether the receiver takes lines of words as commands.
  var takesLines: Bool { get }
}

extension ReceiverProtocol {
  func isDeafened(by frameErrors: Int) -> Bool { false }
  func deafNote() -> [UInt8] { [] }
  var takesLines: Bool { false }
}
