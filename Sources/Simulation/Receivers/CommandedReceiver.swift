import CLinux
import Glibc
import Guarding
import HardwareIO
import MonotonicTime

/// A receiver that understands commands, on a real pseudo-terminal.
///
/// The receiver behaves like the modules of its maker. It exchanges bytes at its own speed, and receives bytes at
/// another speed as noise. Like a real tty, the terminal remains when a program closes the port. The receiver
/// continues to run, and its output is lost in the meantime.
public final class CommandedReceiver: Sendable {
  public struct Configuration: Sendable {
    /// Whether V_BCKP is supplied while the main supply is off.
    public var hasBackupSupply = true
    /// Whether the first start is hot instead of cold, as for a receiver that was used here before.
    public var wasUsedBefore = false
    /// The standard deviation of the horizontal position, in metres.
    public var positionSigmaMetres = 0.8
    /// A factor for the times to first fix of the data sheet, for tests that cannot wait that long.
    public var timeToFirstFixScale = 1.0
    /// The seed for the times to first fix and the position errors.
    public var seed: UInt64 = 1
    /// Whether the receiver resolves carrier phases with corrections (RTK).
    public var takesCorrections = false
    /// Whether the receiver is connected by its I2C port instead of its UART. The receiver has the port settings only
    /// of the connected port.
    public var isOnI2C = false
    /// A recurring stretch of road without satellite reception.
    public var tunnel: SimulatedReceiver.Tunnel?
    /// The UTC time when the receiver is created, in nanoseconds since 1970; `nil` for the system's time. From then on
    /// the receiver's UTC time advances with its clock.
    public var startUTCNanoseconds: Int64?

    public init() {}
  }

  /// A start of the receiver's search for satellites.
  public struct Start: Equatable, Sendable {
    public let kind: ReceiverStart
    public let at: MonotonicInstant
    public let timeToFirstFix: Duration
  }

  private struct Terminal {
    var controller: Int32
    /// The descriptor of the device, kept open so that the line does not hang up when other programs close it.
    var device: Int32
    var path: String
    var stop: StopSignal
  }

  private struct State {
    var machine: ReceiverMachine
    var terminal: Terminal?
    var receivedByteCount = 0
  }

  public let personality: ReceiverPersonality
  private let clock: any MonotonicTimeSource
  /// The alarm that goes off at the receiver's next event.
  private let alarm: Alarm
  private let state: Guarded<State>

  public init(
    _ personality: ReceiverPersonality, world: World, clock: any MonotonicTimeSource = MonotonicClock(),
    configuration: Configuration = Configuration()
  ) {
    self.personality = personality
    self.clock = clock
    alarm = Alarm(clock: clock)
    let now = clock.now
    var body = ReceiverBody(
      personality.character, configuration, world: world, now: now,
      utcNanoseconds: configuration.startUTCNanoseconds ?? clinux_realtime_ns())
    if configuration.wasUsedBefore { body.navigation.gotFix(at: now) }
    let machine = ReceiverMachine(body, personality.makeProtocol())
    state = Guarded(State(machine: machine))
  }

  deinit { hangUp() }

  // MARK: Port

  /// Opens the receiver's port, and creates its tty unless it exists.
  public func open(speed: BaudRate) throws(HardwareError) -> any SerialPort {
    try LinuxSerialPort(try plugIn(), speed: speed)
  }

  /// Creates the receiver's tty unless it exists. Returns its path.
  public func plugIn() throws(HardwareError) -> String {
    try state.withLock { (state) throws(HardwareError) -> String in
      if let terminal = state.terminal { return terminal.path }
      let terminal = try makeTerminal()
      state.terminal = terminal
      return terminal.path
    }
  }

  /// Simulates pulling the cable. The reader sees a hang-up.
  public func hangUp() {
    let terminal = state.withLock { state in
      defer { state.terminal = nil }
      return state.terminal
    }
    alarm.cancel()
    guard let terminal else { return }
    terminal.stop.set()
    close(terminal.device)
    close(terminal.controller)
  }

  private func makeTerminal() throws(HardwareError) -> Terminal {
    let (controller, path) = try PseudoTerminalController.open()
    let device = Glibc.open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    let stop = StopSignal()
    // The thread gets its own descriptor, because it may still be reading when the terminal is closed.
    let input = fcntl(controller, F_DUPFD_CLOEXEC, 0)
    guard device >= 0, stop.fileDescriptor >= 0, input >= 0 else {
      for descriptor in [controller, device, input] where descriptor >= 0 { close(descriptor) }
      throw .system("opening a pseudo-terminal", errno: EMFILE)
    }
    // Without echo the receiver does not receive its own output, and without flow control a program that does not read
    // cannot block it.
    var settings = termios()
    tcgetattr(device, &settings)
    cfmakeraw(&settings)
    tcsetattr(device, TCSANOW, &settings)
    _ = fcntl(controller, F_SETFL, O_RDWR | O_NONBLOCK)
    let listener = ReceiverListener(input: input, stop: stop) { [weak self] bytes in self?.hear(bytes) }
    guard listener.start() else { throw .system("starting a thread", errno: EAGAIN) }
    return Terminal(controller: controller, device: device, path: path, stop: stop)
  }

  // MARK: Supply and faults

  public func setPower(_ isOn: Bool) {
    look { state, now in state.machine.setSupply(isOn, at: now) }
  }

  /// Changes the faults from now on.
  public func setFaults(_ change: @Sendable (inout ReceiverFaults) -> Void) {
    look { state, _ in state.machine.change(change) }
  }

  /// Changes the speed of the receiver's UART permanently, in bits per second, as if another program had done so.
  public func leave(at speed: Int) {
    look { state, _ in state.machine.leave(at: speed) }
  }

  // MARK: State

  public var phase: ReceiverPhase { glance { $0.body.phase } }
  /// The speed of the UART, in bits per second.
  public var speed: Int { glance { $0.body.speed } }
  public var amperes: Double { glance { $0.body.amperes } }
  public var charge: ReceiverCharge { glance { $0.body.charge } }
  public var starts: [Start] { glance { $0.body.starts } }
  /// The time between epochs.
  public var interval: Duration { glance { $0.body.interval } }
  public var frameErrors: Int { glance { $0.frameErrors } }
  /// The number of bytes that programs have sent to the receiver, whether or not it has understood them.
  public var receivedByteCount: Int { state.withLock { $0.receivedByteCount } }
  /// Whether the receiver ignores its input because of frame errors.
  public var isDeaf: Bool { glance { $0.isDeaf } }
  /// The last thousand commands that the receiver has understood, in order.
  public var commands: [CommandName] { glance { $0.commands } }

  private func glance<Value>(_ value: (ReceiverMachine) -> Value) -> Value {
    look { state, _ in value(state.machine) }
  }

  private func hear(_ bytes: [UInt8]) {
    look { state, now in
      let speed = state.terminal.flatMap { PseudoTerminalController.speed(of: $0.controller) }
      state.machine.hear(bytes, at: speed, now: now)
      state.receivedByteCount += bytes.count
    }
  }

  /// Advances the receiver to the present and then runs `body`. Writes the output, and schedules the next call for
  /// the next event.
  private func look<Value>(_ body: (inout State, MonotonicInstant) -> Value) -> Value {
    let value = state.withLock { state in
      let now = clock.now
      state.machine.run(until: now)
      let value = body(&state, now)
      CommandedReceiver.write(&state)
      return value
    }
    // The alarm is set outside the lock. If its instant has passed, it runs `look` again before `set` returns, and
    // `look` takes the lock.
    alarm.set(asking: { state.withLock { $0.machine.nextEvent } }) { [weak self] in self?.look { _, _ in } }
    return value
  }

  private static func write(_ state: inout State) {
    let speed = state.terminal.flatMap { PseudoTerminalController.speed(of: $0.controller) }
    let pieces = state.machine.takePieces(speed: speed)
    guard let terminal = state.terminal else { return }
    for bytes in pieces {
      // A program that does not read loses bytes, as with a UART, and finds no old bytes when it opens the port again.
      guard PseudoTerminalController.hasRoom(for: bytes.count, at: terminal.device) else { continue }
      _ = bytes.withUnsafeBytes { Glibc.write(terminal.controller, $0.baseAddress, $0.count) }
    }
  }
}
