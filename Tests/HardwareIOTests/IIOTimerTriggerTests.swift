import HardwareIO
import TestSupport
import Testing

struct IIOTimerTriggerTests {
  @Test func `a timer is created, set to its rate, and removed`() throws {
    let tree = IIOTree()
    tree.addTrigger(0, "mpu6050-dev0")
    let timer = try IIOTimerTrigger("sensorhub-0", hertz: 12.5, in: tree.system) { _ in Issue.record("a pause") }
    #expect(tree.timers == ["sensorhub-0"])
    #expect(tree.says("trigger1/sampling_frequency") == "12.500000")
    timer.close()
    timer.close()
    #expect(tree.timers == [])
    #expect(
      tree.journal == [
        "make config/iio/triggers/hrtimer/sensorhub-0", "trigger1/sampling_frequency = 12.500000",
        "remove config/iio/triggers/hrtimer/sensorhub-0",
      ])
  }

  @Test func `a timer is removed with its last reference`() throws {
    let tree = IIOTree()
    do {
      let timer = try IIOTimerTrigger("sensorhub-0", hertz: 100, in: tree.system) { _ in }
      #expect(timer.name == "sensorhub-0" && tree.timers == ["sensorhub-0"])
    }
    #expect(tree.timers == [])
  }

  @Test(arguments: [(104, "104"), (200.0004, "200"), (33.3333, "33.333000"), (0.5, "0.500000")] as [(Double, String)])
  func `a timer's rate is written with decimals unless it is a whole number`(_ hertz: Double, _ text: String) throws {
    let tree = IIOTree()
    let timer = try IIOTimerTrigger("t", hertz: hertz, in: tree.system) { _ in }
    #expect(tree.says("trigger0/sampling_frequency") == text)
    timer.close()
  }

  @Test func `without the kernel's module, the message says how to load it`() {
    let tree = IIOTree()
    tree.removeTimers()
    #expect {
      try IIOTimerTrigger("t", hertz: 100, in: tree.system) { _ in }
    } throws: {
      "\($0)".contains("config/iio/triggers/hrtimer is missing") && "\($0)".contains("sudo modprobe iio-trig-hrtimer")
    }
    #expect(tree.journal == [])
  }

  @Test func `a timer that was left behind is used again, and removed`() throws {
    let tree = IIOTree()
    let lost = try IIOTimerTrigger("sensorhub-0", hertz: 100, in: tree.system) { _ in }
    tree.forgetJournal()
    let timer = try IIOTimerTrigger("sensorhub-0", hertz: 50, in: tree.system) { _ in }
    #expect(tree.says("trigger0/sampling_frequency") == "50")
    timer.close()
    #expect(tree.timers == [])
    lost.close()
  }

  @Test func `the hub waits for a timer whose files appear late, or first belong to root`() throws {
    let tree = IIOTree()
    tree.hideNewTriggers()
    let entry = "trigger0/sampling_frequency = 100"
    tree.refuse(entry, .noPermission("it", group: "i2c"))
    var pauses = 0
    let timer = try IIOTimerTrigger("t", hertz: 100, in: tree.system) { _ in
      pauses += 1
      if pauses == 3 { tree.showTrigger("t") }
      if pauses == 6 { tree.refuseNothing() }
    }
    #expect(pauses == 6 && tree.says("trigger0/sampling_frequency") == "100")
    timer.close()
  }

  @Test func `a timer that never appears is given up and removed`() {
    let tree = IIOTree()
    tree.hideNewTriggers()
    var waited = Duration.zero
    #expect(throws: HardwareError.timedOut("IIO's timer 't'")) {
      try IIOTimerTrigger("t", hertz: 100, in: tree.system) { waited += $0 }
    }
    #expect(waited == .milliseconds(500) && tree.timers == [])
  }

  @Test func `a timer that cannot be set is removed, and the reason is reported`() {
    let tree = IIOTree()
    let error = HardwareError.noPermission("the file", group: "i2c")
    tree.refuse("trigger0/sampling_frequency = 100", error)
    var waited = Duration.zero
    #expect(throws: error) { try IIOTimerTrigger("t", hertz: 100, in: tree.system) { waited += $0 } }
    #expect(waited == .milliseconds(500) && tree.timers == [])
    // Other errors do not pass by themselves.
    tree.refuse("trigger0/sampling_frequency = 100", .system("writing", errno: 22))
    waited = .zero
    #expect(throws: HardwareError.system("writing", errno: 22)) {
      try IIOTimerTrigger("t", hertz: 100, in: tree.system) { waited += $0 }
    }
    #expect(waited == .zero && tree.timers == [])
  }

  @Test func `a user who may not create a timer gets the reason`() {
    let tree = IIOTree()
    let error = HardwareError.noPermission("the folder", group: "i2c")
    tree.refuse("make config/iio/triggers/hrtimer/t", error)
    #expect(throws: error) { try IIOTimerTrigger("t", hertz: 100, in: tree.system) { _ in } }
    #expect(tree.journal == [])
  }
}
