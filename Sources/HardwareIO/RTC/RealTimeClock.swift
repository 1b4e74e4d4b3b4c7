import CLinux
import Glibc

/// A clock that runs while the machine sleeps, and whose alarm wakes the machine.
///
/// Its date may differ from the system clock's, for example by a time zone. All instants are seconds since 1970 by the
/// clock's own date.
public protocol WakeClock: Sendable {
  /// Why the clock cannot wake the machine; `nil` if it can, or if that is unknown before the alarm is set.
  var problem: WakeClockError? { get }
  /// The clock's date.
  func now() throws(WakeClockError) -> Int64
  /// The instant of the alarm; `nil` if the alarm is off.
  func alarm() throws(WakeClockError) -> Int64?
  /// Sets the alarm, or switches it off with `nil`.
  func setAlarm(_ instant: Int64?) throws(WakeClockError)
}

/// Why a real-time clock cannot wake the machine.
public struct WakeClockError: Error, Equatable, CustomStringConvertible {
  public var reason: String
  public var nextStep: String?

  public init(_ reason: String, nextStep: String? = nil) {
    self.reason = reason
    self.nextStep = nextStep
  }

  public var description: String { nextStep.map { "\(reason); \($0)" } ?? reason }
}

/// A real-time clock of the kernel (rtc(4)), through its device file.
///
/// Only one program can have the device file open, so it is opened for each access. The alarm remains set after the
/// file is closed.
public struct RealTimeClock: WakeClock {
  private static let day: Int64 = 86_400

  private let path: String
  private let name: String
  private let machine: MachineFiles
  private let root: String

  /// - Parameters:
  ///   - path: the device file, such as `/dev/rtc0`
  ///   - root: the prefix of all paths, for tests
  public init(_ path: String, root: String = "") {
    self.path = path
    self.root = root
    name = path.split(separator: "/").last.map(String.init) ?? path
    machine = MachineFiles(root: root)
  }

  /// Why this clock cannot wake the machine; `nil` if it can, as far as its files show.
  public var problem: WakeClockError? {
    guard machine.has(path) else {
      let others = machine.names(in: "/sys/class/rtc")
      return WakeClockError(
        "there is no \(path)",
        nextStep: others.isEmpty
          ? "this machine has no real-time clock: connect one, and load its overlay"
          : "this machine has \(others.map { "/dev/\($0)" }.joined(separator: ", "))")
    }
    let folder = "/sys/class/rtc/\(name)"
    // The kernel shows this file only for a clock with an alarm that can wake the machine.
    guard machine.has(folder), !machine.has("\(folder)/wakealarm") else { return nil }
    return WakeClockError(
      "\(path) cannot wake the board",
      nextStep: "connect its interrupt line, and give its overlay the parameter for that ('wakeup-source')")
  }

  public func now() throws(WakeClockError) -> Int64 {
    try withDevice("read") { (file) throws(WakeClockError) in try date(of: file) }
  }

  private func date(of file: Int32) throws(WakeClockError) -> Int64 {
    var seconds: Int64 = 0
    let result = clinux_rtc_time(file, &seconds)
    guard result >= 0 else { throw failure("read", -result) }
    return seconds
  }

  public func alarm() throws(WakeClockError) -> Int64? {
    try withDevice("read the alarm of") { (file) throws(WakeClockError) in
      var seconds: Int64 = 0
      let result = clinux_rtc_alarm(file, &seconds)
      guard result >= 0 else { throw failure("read the alarm of", -result) }
      return result == 1 ? seconds : nil
    }
  }

  public func setAlarm(_ instant: Int64?) throws(WakeClockError) {
    try withDevice("set the alarm of") { (file) throws(WakeClockError) in
      // An alarm that is off has a date too, which must be a valid one.
      let date = if let instant { instant } else { try date(of: file) + 1 }
      let result = clinux_rtc_set_alarm(file, date, instant != nil)
      guard result >= 0 else {
        let now = try? self.date(of: file)
        throw failure("set the alarm of", -result, secondsAhead: now.map { date - $0 })
      }
    }
  }

  private func withDevice<Result>(
    _ action: String, _ use: (Int32) throws(WakeClockError) -> Result
  ) throws(WakeClockError) -> Result {
    let file = open(root + path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      let error = errno
      if error == EBUSY {
        throw WakeClockError("another program has \(path) open", nextStep: "sudo fuser -v \(path) names it")
      }
      throw error == ENOENT ? problem ?? failure(action, error) : failure(action, error)
    }
    defer { close(file) }
    return try use(file)
  }

  /// - Parameter secondsAhead: the time until the alarm that could not be set
  func failure(_ action: String, _ error: Int32, secondsAhead: Int64? = nil) -> WakeClockError {
    let reason = "cannot \(action) \(path): \(String(cString: strerror(error)))"
    switch error {
    case EACCES, EPERM:
      return WakeClockError(reason, nextStep: "the service needs the rights that check --device-policy prints")
    case EOVERFLOW, ERANGE, EDOM:
      return WakeClockError(
        "cannot \(action) \(path): its date is one that it cannot hold",
        nextStep: "set the clock: sudo hwclock --systohc --rtc \(path)")
    case EINVAL where secondsAhead.map { $0 > RealTimeClock.day } ?? false:
      // The clocks of some PCs store only the time of day of an alarm (rtc_cmos without a "day alarm").
      return WakeClockError(
        reason, nextStep: "this clock may hold only alarms within a day: let a fix be due each day ('every': 80000)")
    case ENOTTY, EINVAL:
      return WakeClockError(reason, nextStep: problem?.description ?? "this clock may have no alarm")
    default: return WakeClockError(reason)
    }
  }
}
