import CLinux
import Glibc
import Guarding

/// A tty of the kernel in raw mode, or a `GNSSDevice`.
public final class LinuxSerialPort: SerialPort {
  public let name: String
  public let hasSpeed: Bool
  private let descriptor: Guarded<Int32>
  /// The settings that the tty had when it was opened.
  private let original: termios

  /// Opens the tty for exclusive use. If another program uses it exclusively, the error names that process if /proc
  /// shows it.
  public init(_ path: String, speed: BaudRate, on machine: MachineFiles = MachineFiles()) throws(HardwareError) {
    name = path
    hasSpeed = GNSSDevice(path, on: machine) == nil
    let descriptor = try LinuxSerialPort.open(path)
    self.descriptor = Guarded(descriptor)
    var settings = termios()
    tcgetattr(descriptor, &settings)
    original = settings
    do throws(HardwareError) {
      try LinuxSerialPort.lock(descriptor, path, isTerminal: hasSpeed)
      guard hasSpeed else { return }
      // A pseudo-terminal outlives the programs that open it, so a killed program would leave it locked for all others.
      if !clinux_tty_is_pseudo(descriptor) { _ = clinux_tty_exclusive(descriptor) }
      try setSpeed(speed)
      tcflush(descriptor, TCIFLUSH)
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  /// Throws if the tty could not be opened now. The tty itself stays unchanged. A `GNSSDevice` is not opened, because
  /// that would power its receiver.
  static func check(_ path: String, on machine: MachineFiles) throws(HardwareError) {
    if GNSSDevice(path, on: machine) != nil {
      guard access(path, R_OK | W_OK) == 0 else { throw opening(path, errno) }
      return
    }
    let descriptor = try open(path)
    defer {
      _ = flock(descriptor, LOCK_UN)
      _ = Glibc.close(descriptor)
    }
    try lock(descriptor, path, isTerminal: true)
  }

  private static func open(_ path: String) throws(HardwareError) -> Int32 {
    let descriptor = Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    if descriptor >= 0 { return descriptor }
    let reason = errno
    if reason == EBUSY { throw inUse(path, FileHolder.find(path)) }
    if reason == EACCES, LinuxSerialPort.isTerminal(path) { throw .terminal(Files.resolved(path) ?? path) }
    throw opening(path, reason)
  }

  private static func opening(_ path: String, _ reason: Int32) -> HardwareError {
    .opening("serial port \(path)", reason, group: "dialout", missing: .init(port: path))
  }

  /// Takes a lock in addition to TIOCEXCL. TIOCEXCL does not stop root, and the lock stops only programs that check it,
  /// so both are needed.
  private static func lock(_ descriptor: Int32, _ path: String, isTerminal: Bool) throws(HardwareError) {
    guard !isTerminal || isatty(descriptor) == 1 else { throw .unsupported("\(path) is not a serial port") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw inUse(path, FileHolder.find(path, except: descriptor))
    }
  }

  private static func inUse(_ path: String, _ holder: String?) -> HardwareError {
    .inUse("serial port \(path)", holder: holder, shownBy: FileHolder.command(path))
  }

  /// Whether a login uses the tty, or has used it since the system started. On a Raspberry Pi, a login uses the
  /// header's port until it is disabled. A login moves the tty from the group dialout to the group tty, and sets its
  /// mode to 0620. If /proc hides processes, there is no other visible sign. The service's sandbox hides groups too, so
  /// the mode alone also counts.
  private static func isTerminal(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    return status.st_mode & 0o777 == 0o620 || status.st_gid == getgrnam("tty")?.pointee.gr_gid
  }

  public var fileDescriptor: Int32 { descriptor.withLock { $0 } }

  public func setSpeed(_ speed: BaudRate) throws(HardwareError) {
    guard hasSpeed else { return }
    let descriptor = fileDescriptor
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { throw failure("reading the settings of") }
    cfmakeraw(&settings)
    settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
    settings.c_cflag &= ~tcflag_t(CRTSCTS)
    cfsetspeed(&settings, speed.constant)
    guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else { throw failure("setting \(speed.rawValue) baud on") }
  }

  /// Gives the tty the settings that it had before this program opened it, for a login that uses it too.
  public func restoreSettings() {
    var settings = original
    tcsetattr(fileDescriptor, TCSANOW, &settings)
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    while true {
      let count = Glibc.read(fileDescriptor, buffer.baseAddress, buffer.count)
      if count > 0 { return count }
      // If `poll` reported the descriptor readable but there is nothing to read, the other end or the adapter is gone.
      if count == 0 { throw .disconnected("serial port \(name)") }
      switch errno {
      case EINTR: continue
      case EAGAIN: return 0
      default: throw failure("reading")
      }
    }
  }

  public func write(_ bytes: [UInt8]) throws(HardwareError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      rest = rest.dropFirst(try writeNow(rest))
      if rest.isEmpty { return }
      var wait = pollfd(fd: fileDescriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&wait, 1, 1000) > 0 else { throw .timedOut("serial port \(name)") }
    }
  }

  public func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int {
    let bytes = hasSpeed ? bytes : bytes.prefix(GNSSDevice.longestWrite)
    while true {
      let count = bytes.withUnsafeBytes { Glibc.write(fileDescriptor, $0.baseAddress, $0.count) }
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN: return 0
      default: throw failure("writing to")
      }
    }
  }

  public var unsentCount: Int {
    var count: Int32 = 0
    return ioctl(fileDescriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
  }

  public func close() {
    let open = descriptor.withLock { descriptor in
      defer { descriptor = -1 }
      return descriptor
    }
    guard open >= 0 else { return }
    LinuxSerialPort.drain(open)
    // The lock is released explicitly. A child process that has not started its program yet has a copy of the
    // descriptor, which would keep the lock.
    _ = clinux_tty_shared(open)
    _ = flock(open, LOCK_UN)
    _ = Glibc.close(open)
  }

  /// Waits while the line sends its unsent bytes, for at most one second, and drops the rest. Otherwise closing a
  /// blocked line would take up to half a minute, during which the device stays on.
  private static func drain(_ descriptor: Int32) {
    var drain = SerialDrain()
    while true {
      var count: Int32 = 0
      let unsent = ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
      switch drain.look(unsent: unsent) {
      case .done: return
      case .wait(let milliseconds): _ = poll(nil, 0, Int32(milliseconds))
      case .drop:
        tcflush(descriptor, TCOFLUSH)
        return
      }
    }
  }

  private func failure(_ doing: String) -> HardwareError {
    switch errno {
    case EIO, ENODEV, ENXIO, EBADF: .disconnected("serial port \(name)")
    default: .system("\(doing) \(name)", errno: errno)
    }
  }
}

extension BaudRate {
  var constant: speed_t {
    switch self {
    case .b4800: speed_t(B4800)
    case .b9600: speed_t(B9600)
    case .b19200: speed_t(B19200)
    case .b38400: speed_t(B38400)
    case .b57600: speed_t(B57600)
    case .b115200: speed_t(B115200)
    case .b230400: speed_t(B230400)
    case .b460800: speed_t(B460800)
    case .b921600: speed_t(B921600)
    }
  }
}

/// Decides how long a serial line that is about to be closed may go on sending.
struct SerialDrain {
  enum Step: Equatable {
    /// All bytes have been sent.
    case done
    case wait(milliseconds: Int)
    /// The line is blocked or takes too long, so the rest is dropped.
    case drop
  }

  /// The interval between two checks of the number of unsent bytes, in milliseconds. At the slowest speed a dozen bytes
  /// are sent in this time.
  private static let interval = 25
  private static let mostLooks = 40

  private var before = Int.max
  private var looks = 0

  mutating func look(unsent: Int) -> Step {
    if unsent <= 0 { return .done }
    guard unsent < before, looks < SerialDrain.mostLooks else { return .drop }
    (before, looks) = (unsent, looks + 1)
    return .wait(milliseconds: SerialDrain.interval)
  }
}

/// The identity of an open device file, so that a replacement by another device is noticed.
public struct DeviceNode: Equatable, Sendable {
  /// The location of the device: its bus and socket if sysfs states them, otherwise its device number.
  public let place: String
  /// The inode number. It changes each time the device appears.
  public let inode: UInt64

  /// Returns `nil` if the descriptor is not open.
  public init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    // The major and minor number are extracted as makedev(3) encodes them.
    let number = UInt64(status.st_rdev)
    let major = number >> 8 & 0xFFF | number >> 32 & 0xFFFF_F000
    let minor = number & 0xFF | number >> 12 & 0xFFFF_FF00
    place = Files.resolved("/sys/dev/char/\(major):\(minor)") ?? "\(major):\(minor)"
    inode = UInt64(status.st_ino)
  }
}
