import Glibc
import TestSupport
import Testing

@testable import HardwareIO

/// The alarm of a real-time clock, with files in place of the kernel's.
struct RealTimeClockTests {
  private let tree = MachineTree()

  @Test func `a clock that is missing, or cannot wake the machine, says what to do`() throws {
    let missing = RealTimeClock("/dev/rtc0", root: tree.root)
    #expect(missing.problem?.reason == "there is no /dev/rtc0")
    #expect(missing.problem?.nextStep?.hasPrefix("this machine has no real-time clock") == true)
    #expect(throws: WakeClockError.self) { try missing.now() }
    tree.add("/sys/class/rtc/rtc1/since_epoch", "1\n")
    #expect(missing.problem?.nextStep == "this machine has /dev/rtc1")
    // A clock without an interrupt line has no such file.
    tree.add("/dev/rtc1")
    let mute = RealTimeClock("/dev/rtc1", root: tree.root)
    #expect(mute.problem?.reason == "/dev/rtc1 cannot wake the board")
  }

  @Test(arguments: [EOVERFLOW, ERANGE])
  func `a date that a clock cannot hold is named, with the next step`(_ error: Int32) {
    let failure = RealTimeClock("/dev/rtc0").failure("set the alarm of", error)
    #expect(failure.reason == "cannot set the alarm of /dev/rtc0: its date is one that it cannot hold")
    #expect(failure.nextStep == "set the clock: sudo hwclock --systohc --rtc /dev/rtc0")
  }

  @Test func `a clock that holds only alarms within a day says so, if the alarm is later`() {
    let clock = RealTimeClock("/dev/rtc0", root: tree.root)
    let late = clock.failure("set the alarm of", EINVAL, secondsAhead: 172_800)
    #expect(late.nextStep?.hasPrefix("this clock may hold only alarms within a day") == true)
    let near = clock.failure("set the alarm of", EINVAL, secondsAhead: 600)
    #expect(near.nextStep?.contains("within a day") == false)
  }

  @Test func `a file that is not a clock is an error that names the file`() throws {
    tree.add("/dev/rtc0", "not a clock")
    let clock = RealTimeClock("/dev/rtc0", root: tree.root)
    for use in [{ _ = try clock.now() }, { _ = try clock.alarm() }, { try clock.setAlarm(5) }] as [() throws -> Void] {
      let error = #expect(throws: WakeClockError.self) { try use() }
      #expect(error?.reason.contains("/dev/rtc0: \(String(cString: strerror(ENOTTY)))") == true)
    }
  }
}
