import HardwareIO
import TestSupport
import Testing

/// Ports that the kernel or a login uses, as stock systems have them.
struct SerialConsoleTests {
  private let tree = MachineTree()

  /// A Raspberry Pi 4 with the UART enabled only in config.txt, so that the firmware assigns the mini UART to the
  /// header.
  private func makeRaspberryPi() {
    tree.add("/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0")
    tree.add("/usr/bin/raspi-config")
    tree.add("/dev/ttyS0")
    tree.add("/dev/ttyAMA0")
    tree.link("/dev/serial0", to: "ttyS0")
    tree.link("/dev/sensorhub/gps", to: "../ttyS0")
    tree.add("/proc/cmdline", "coherent_pool=1M console=ttyS0,115200 console=tty1 root=PARTUUID=1234-02 rootwait\n")
    tree.add("/proc/consoles", "tty1                 -WU (EC    )    4:1\nttyS0                -W- (Ec   p)    4:64\n")
    tree.link(
      "/run/systemd/generator/getty.target.wants/serial-getty@ttyS0.service",
      to: "/usr/lib/systemd/system/serial-getty@.service")
  }

  @Test(arguments: ["/dev/ttyS0", "/dev/serial0", "/dev/sensorhub/gps"])
  func `the kernel uses the header's UART of a stock Raspberry Pi as its console, under any name`(_ port: String) throws
  {
    makeRaspberryPi()
    let console = try #require(SerialConsole(port: port, on: tree.files))
    #expect(console.tty == "ttyS0" && console.hasMessages)
    #expect(
      "\(console)"
        == "the kernel prints its messages on /dev/ttyS0, and serial-getty@ttyS0.service waits for a login there")
    #expect(
      console.nextStep
        == "sudo raspi-config nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0 && sudo reboot")
  }

  @Test(arguments: ["/dev/ttyAMA0", "/dev/ttyUSB7", "/dev/null", ""])
  func `a port without a console is free for a receiver`(_ port: String) {
    makeRaspberryPi()
    #expect(SerialConsole(port: port, on: tree.files) == nil)
  }

  @Test func `an enabled login is disabled, and one that comes with the console is masked`() throws {
    tree.add("/dev/ttyS1")
    let unit = "serial-getty@ttyS1.service"
    tree.link("/run/systemd/generator/getty.target.wants/\(unit)", to: "/nowhere")
    var console = try #require(SerialConsole(port: "/dev/ttyS1", on: tree.files))
    #expect("\(console)" == "\(unit) waits on /dev/ttyS1 for a login" && !console.hasMessages)
    #expect(console.nextStep == "sudo systemctl mask --now \(unit)")
    tree.link("/etc/systemd/system/getty.target.wants/\(unit)", to: "/nowhere")
    console = try #require(SerialConsole(port: "/dev/ttyS1", on: tree.files))
    #expect(console.nextStep == "sudo systemctl disable --now \(unit)")
    tree.link("/etc/systemd/system/\(unit)", to: "/dev/null")
    #expect(SerialConsole(port: "/dev/ttyS1", on: tree.files) == nil)
  }

  @Test func `a console named serial0 is on the header's port`() throws {
    tree.add("/dev/ttyAMA0")
    tree.link("/dev/serial0", to: "ttyAMA0")
    tree.add("/proc/cmdline", "console=serial0,115200 quiet")
    let console = try #require(SerialConsole(port: "/dev/ttyAMA0", on: tree.files))
    #expect("\(console)" == "the kernel prints its messages on /dev/ttyAMA0")
    #expect(console.nextStep == "remove console=ttyAMA0 from the kernel's command line and restart")
  }
}

/// Stable port names for board files.
struct SerialPortNameTests {
  private let tree = MachineTree()

  @Test func `a port is named by its most permanent link`() {
    for port in ["ttyS0", "ttyUSB0", "ttyACM0", "ttyAMA1"] { tree.add("/dev/\(port)") }
    tree.link("/dev/serial0", to: "ttyS0")
    tree.link("/dev/sensorhub/gps", to: "../ttyACM0")
    tree.link("/dev/serial/by-path/platform-xhci-usbv2-0:1:1.0-port0", to: "../../ttyUSB0")
    tree.link("/dev/serial/by-path/platform-xhci-usb-0:1:1.0-port0", to: "../../ttyUSB0")
    func name(_ port: String) -> String { SerialPortName.lasting(for: port, on: tree.files) }
    #expect(name("/dev/ttyS0") == "/dev/serial0")
    #expect(name("/dev/ttyACM0") == "/dev/sensorhub/gps")
    #expect(name("/dev/ttyUSB0") == "/dev/serial/by-path/platform-xhci-usb-0:1:1.0-port0")
    #expect(name("/dev/ttyAMA1") == "/dev/ttyAMA1")
  }

  @Test func `the ports of a Raspberry Pi 5 keep their own names`() {
    for port in ["ttyAMA0", "ttyAMA10"] { tree.add("/dev/\(port)") }
    tree.link("/dev/serial0", to: "ttyAMA10")
    #expect(SerialPortName.ofHeader(on: tree.files) == "/dev/ttyAMA0")
    for port in ["/dev/ttyAMA0", "/dev/ttyAMA10"] {
      #expect(SerialPortName.lasting(for: port, on: tree.files) == port)
    }
  }
}

/// The bus clock in the device tree.
struct I2CBusClockTests {
  private let tree = MachineTree()

  @Test func `a bus's clock is read from the device tree, as four big-endian bytes`() {
    tree.add("/dev/i2c-1")
    tree.link("/dev/sensorhub/imu", to: "../i2c-1")
    let clock = "/sys/bus/i2c/devices/i2c-1/of_node/clock-frequency"
    #expect(tree.files.hertz(ofI2CBus: "/dev/i2c-1") == nil)
    tree.add(clock, [0x00, 0x06, 0x1A, 0x80])
    #expect(tree.files.hertz(ofI2CBus: "/dev/i2c-1") == 400_000)
    #expect(tree.files.hertz(ofI2CBus: "/dev/sensorhub/imu") == 400_000)
    #expect(tree.files.hertz(ofI2CBus: "/dev/i2c-2") == nil)
    tree.add(clock, [0x06, 0x1A, 0x80])
    #expect(tree.files.hertz(ofI2CBus: "/dev/i2c-1") == nil)
  }
}
