import Glibc
import HardwareIO
import TestSupport
import Testing

/// The alarm of a real-time clock, with files in place of the kernel's.
struct RealTimeClockTests {
  private let tree = MachineTree()
  private let folder = "/sys/class/rtc/rtc0"

  private func text(_ path: String) -> String {
    String(decoding: (try? Files.bytes(of: tree.root + path)) ?? [], as: UTF8.self)
  }

  @Test func `the alarm is set, read and switched off through sysfs`() throws {
    tree.add("\(folder)/since_epoch", "1795478400\n")
    tree.add("\(folder)/wakealarm", "\n")
    let clock = RealTimeClock(folder, root: tree.root)
    #expect(clock.problem == nil)
    #expect(try clock.now() == 1_795_478_400)
    #expect(try clock.alarm() == nil)
    try clock.setAlarm(1_795_479_000)
    #expect(text("\(folder)/wakealarm") == "1795479000")
    #expect(try clock.alarm() == 1_795_479_000)
    try clock.setAlarm(nil)
    // The kernel shows an empty file then.
    #expect(text("\(folder)/wakealarm") == "0")
    #expect(try clock.alarm() == nil)
  }

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
    let files = RealTimeClock("/sys/class/rtc/rtc1", root: tree.root)
    #expect(try files.now() == 1)
    let error = #expect(throws: WakeClockError.self) { try files.alarm() }
    #expect(error == files.problem)
    #expect(throws: WakeClockError.self) { try files.setAlarm(5) }
  }

  @Test func `a file that is no clock is an error with its name`() throws {
    tree.add("/dev/rtc0", "not a clock")
    let clock = RealTimeClock("/dev/rtc0", root: tree.root)
    for use in [{ _ = try clock.now() }, { _ = try clock.alarm() }, { try clock.setAlarm(5) }] as [() throws -> Void] {
      let error = #expect(throws: WakeClockError.self) { try use() }
      #expect(error?.reason.contains("/dev/rtc0: \(String(cString: strerror(ENOTTY)))") == true)
    }
  }
}
