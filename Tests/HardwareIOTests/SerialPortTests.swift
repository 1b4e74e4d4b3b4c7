import CLinux
import Glibc
@testable import HardwareIO
import TestSupport
import Testing

/// Serial ports tested with real pseudo-terminals.
struct SerialPortTests {
  @Test func `a port reads what the other end writes, and nothing if there is nothing`() throws {
    let terminal = PseudoTerminal()
    let port = try LinuxSerialPort(terminal.path, speed: .b9600)
    #expect(try read(port) == "")
    // In raw mode neither line ends nor control characters are changed.
    let written = "$GPRMC\r\n\u{3}\u{11}"
    terminal.write(written)
    var text = ""
    // The line discipline may deliver the bytes in pieces.
    while text.utf8.count < written.utf8.count {
      try #require(becomesReadable(port))
      text += try read(port)
    }
    #expect(text == written)
  }

  @Test(arguments: BaudRate.allCases)
  func `every speed can be set`(_ speed: BaudRate) throws {
    let terminals = [PseudoTerminal(), PseudoTerminal()]
    defer { for terminal in terminals { terminal.hangUp() } }
    let port = try LinuxSerialPort(terminals[0].path, speed: speed)
    var settings = termios()
    #expect(tcgetattr(port.fileDescriptor, &settings) == 0)
    let other = try LinuxSerialPort(terminals[1].path, speed: speed == .b4800 ? .b9600 : .b4800)
    var others = termios()
    tcgetattr(other.fileDescriptor, &others)
    #expect(cfgetispeed(&settings) != cfgetispeed(&others))
    #expect(cfgetispeed(&settings) == cfgetospeed(&settings))
  }

  @Test func `a port that a login uses gets its settings back`() throws {
    let terminal = PseudoTerminal()
    let login = open(terminal.path, O_RDWR | O_NOCTTY)
    defer { close(login) }
    var settings = termios()
    #expect(tcgetattr(login, &settings) == 0)
    settings.c_lflag |= tcflag_t(ICANON | ECHO)
    cfsetspeed(&settings, speed_t(B115200))
    #expect(tcsetattr(login, TCSANOW, &settings) == 0)
    let port = try LinuxSerialPort(terminal.path, speed: .b9600)
    try port.setSpeed(.b4800)
    port.restoreSettings()
    var after = termios()
    #expect(tcgetattr(login, &after) == 0)
    #expect(after.c_lflag == settings.c_lflag)
    #expect(cfgetospeed(&after) == speed_t(B115200))
  }

  @Test func `a hang-up counts as a disconnection`() throws {
    let terminal = PseudoTerminal()
    let port = try LinuxSerialPort(terminal.path, speed: .b9600)
    terminal.hangUp()
    // A program that another test is just starting may have a copy of the descriptor for a moment.
    #expect(becomesReadable(port))
    #expect(throws: HardwareError.disconnected("serial port \(terminal.path)")) { try read(port) }
  }

  @Test func `a port in use is refused with the name of the program that uses it`() throws {
    let terminal = PseudoTerminal()
    let first = try LinuxSerialPort(terminal.path, speed: .b9600)
    do throws(HardwareError) {
      _ = try LinuxSerialPort(terminal.path, speed: .b9600)
      Issue.record("the port was opened twice")
    } catch {
      guard case .inUse(_, let holder, _) = error else { throw error }
      #expect(holder != nil)
    }
    first.close()
    _ = try LinuxSerialPort(terminal.path, speed: .b9600)
  }

  @Test func `a process does not count as a port's user because it looks at the port`() throws {
    let terminal = PseudoTerminal()
    let descriptor = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(descriptor) }
    // A program that another test is just starting may have a copy of the descriptor for a moment.
    #expect(eventually { FileHolder.find(terminal.path, except: descriptor) == nil })
    let other = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    #expect(eventually { FileHolder.find(terminal.path, except: descriptor) == "this process" })
  }

  @Test func `a port that was closed is free, even if a child process inherited it`() throws {
    let terminal = PseudoTerminal()
    let port = try LinuxSerialPort(terminal.path, speed: .b9600)
    // Between fork and exec, a program has the same open file, and with it the lock.
    let inherited = fcntl(port.fileDescriptor, F_DUPFD_CLOEXEC, 0)
    defer { close(inherited) }
    port.close()
    _ = try LinuxSerialPort(terminal.path, speed: .b9600)
  }

  @Test func `a pseudo-terminal is locked, but not made exclusive, so that it is usable after a kill`() throws {
    let terminal = PseudoTerminal()
    let port = try LinuxSerialPort(terminal.path, speed: .b9600)
    // Root would be allowed to open the port in either case.
    #expect(!clinux_tty_is_exclusive(port.fileDescriptor))
    let other = open(terminal.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
  }

  @Test func `a missing port, and a file that is not a port, are reported as such`() {
    #expect(throws: HardwareError.notFound("serial port /dev/ttyNone", .headerPort)) {
      try LinuxSerialPort("/dev/ttyNone", speed: .b9600)
    }
    #expect(throws: HardwareError.unsupported("/dev/null is not a serial port")) {
      try LinuxSerialPort("/dev/null", speed: .b9600)
    }
  }

  @Test func `a missing bus and a missing line are reported as such`() {
    #expect(throws: HardwareError.notFound("I2C bus /dev/i2c-99", .i2cBus)) { try LinuxI2CBus("i2c-99") }
    #expect(throws: HardwareError.self) {
      try LinuxGPIOOutput(GPIOLineName(chip: "no-such-chip", line: "1"), activeLow: false, safeLevel: false)
    }
    #expect {
      try LinuxI2CBus("/dev/null")
    } throws: {
      "\($0)".hasPrefix("/dev/null is not an I2C bus: ")
    }
  }

  @Test func `errors state the next step`() {
    #expect("\(HardwareError.noPermission("the port", group: "root"))".contains("usermod -aG root"))
    #expect(
      "\(HardwareError.noAcknowledge(bus: "/dev/i2c-1", address: 0x68))".contains("sensorhub probe --bus /dev/i2c-1"))
    #expect("\(HardwareError.inUse("serial port /dev/ttyAMA0", holder: "gpsd (pid 812)"))".contains("gpsd (pid 812)"))
    let line = HardwareError.opening("GPIO line GPIO17", EBUSY, group: "gpio", missing: .gpio)
    #expect("\(line)".hasSuffix("find the program that uses it, and stop it: gpioinfo"))
  }

  @Test func `a missing permission is added to the account that the hub runs as`() {
    let mine = HardwareError.joining("dialout", as: "pi")
    #expect(mine == "add the user to the group dialout: sudo usermod -aG dialout pi, then log in again")
    #expect(
      HardwareError.joining("i2c", as: Accounts.service).hasSuffix(
        "sudo usermod -aG i2c sensorhub, then restart the hub: sudo systemctl restart sensorhub"))
    #expect(HardwareError.joining("gpio", as: nil).contains("usermod -aG gpio $USER"))
    let account = Accounts.name(ofUser: geteuid()) ?? "$USER"
    #expect("\(HardwareError.noPermission("a port", group: "root"))".contains("usermod -aG root \(account), then "))
  }

  @Test func `a missing permission on a machine without the group leads to the package that creates the group`() {
    let error = HardwareError.noPermission("I2C bus /dev/i2c-1", group: "no-such-group")
    #expect(error.nextStep?.hasPrefix("install SensorHub's package (make deb): ") == true, "\(error)")
    #expect(error.nextStep?.contains("usermod") == false, "\(error)")
  }

  @Test func `a missing bus has the next step of its machine`() {
    let tree = MachineTree()
    func step() -> String { HardwareError.Missing.i2cBus.nextStep(on: tree.files) }
    // A PC has no device tree.
    #expect(step().hasPrefix("load the driver for I2C buses: sudo modprobe i2c-dev; or correct 'bus'"))
    tree.add("/proc/device-tree/model", "Pine64")
    #expect(step().hasPrefix("enable I2C in the board's device tree, and load its driver: sudo modprobe i2c-dev; "))
    tree.add("/usr/bin/raspi-config")
    #expect(step().hasPrefix("enable I2C: sudo raspi-config nonint do_i2c 0; "))
  }

  @Test func `a missing port names brltty if that may have taken its cable`() {
    let tree = MachineTree()
    func advises(_ port: String) -> Bool {
      let step = HardwareError.Missing(port: port).nextStep(on: tree.files)
      #expect(step.hasPrefix("plug the receiver in (dmesg shows it)"), "\(step)")
      return step.hasSuffix("sudo systemctl disable --now brltty, and plug the receiver in again")
    }
    func add(_ interface: String, class code: String, driver: String?) {
      tree.add("/sys/devices/usb1/\(interface)/bInterfaceClass", "\(code)\n")
      tree.link("/sys/bus/usb/devices/\(interface)", to: "../../../devices/usb1/\(interface)")
      guard let driver else { return }
      tree.add("/sys/bus/usb/drivers/\(driver)/module")
      tree.link("/sys/devices/usb1/\(interface)/driver", to: "../../../bus/usb/drivers/\(driver)")
    }
    let anyPort = "/dev/ttyUSB0"
    add("1-1.1:1.0", class: "09", driver: nil)
    add("1-1.2:1.0", class: "ff", driver: "ftdi_sio")
    add("1-1.4:1.0", class: "03", driver: "usbfs")
    tree.add("/usr/bin/brltty")
    #expect(!advises(anyPort))
    add("1-1.3:1.0", class: "ff", driver: "usbfs")
    #expect(advises(anyPort))
    unlink(tree.root + "/sys/devices/usb1/1-1.3:1.0/driver")
    #expect(advises(anyPort))
    // The names that say where the cable is, or which one it is.
    func path(_ place: String) -> String {
      "/dev/serial/by-path/platform-fd500000.pcie-pci-0000:01:00.0-usb-0:\(place)-port0"
    }
    #expect(advises(path("1.3:1.0")))
    #expect(!advises(path("1.2:1.0")))
    #expect(!advises(path("1.3:1.1")))
    #expect(!advises(path("1.3.1:1.0")))
    func id(_ number: String) -> String { "/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_\(number)-if00-port0" }
    #expect(advises(id("A10K4YKD")))
    tree.add("/sys/bus/usb/devices/1-1.3/serial", "A10K4YKD\n")
    #expect(advises(id("A10K4YKD")))
    #expect(!advises(id("A50285BI")))
    unlink(tree.root + "/sys/bus/usb/devices/1-1.3/serial")
    tree.add("/sys/bus/usb/devices/1-1.3/serial", "A/1\n")
    #expect(advises(id("A_1")))
    // A receiver with USB of its own, on a hub behind another.
    #expect(!advises("/dev/serial/by-path/pci-0000:00:14.0-usb-0:2.1:1.0"))
    add("1-2.1:1.0", class: "02", driver: nil)
    #expect(advises("/dev/serial/by-path/pci-0000:00:14.0-usb-0:2.1:1.0"))
    unlink(tree.root + "/usr/bin/brltty")
    #expect(!advises(anyPort))
  }

  private func read(_ port: LinuxSerialPort) throws(HardwareError) -> String {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 1)
    defer { buffer.deallocate() }
    let count = try port.read(into: buffer)
    return String(decoding: buffer[..<count], as: UTF8.self)
  }

  /// Blocks until the kernel reports bytes or a hang-up. Returns false after the deadline of a test.
  private func becomesReadable(_ port: LinuxSerialPort) -> Bool {
    var wait = pollfd(fd: port.fileDescriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, 180_000) > 0
  }
}
