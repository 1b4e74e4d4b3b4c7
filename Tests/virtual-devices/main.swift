// Simulates the peripherals of boards/virtual.json5 on the virtual bench: needs gpio-sim and the kernel module
// i2c-relay. SIGHUP pulls the IMU's bus, the next one plugs it in again.

import Glibc
import VirtualBench

do {
  // The vehicle stands for long enough to be calibrated once a minute, for hours.
  let parked: [Range<Double>] = (0..<600).map { (minute: Int) in
    let start = 60 * Double(minute)
    return start + 40..<start + 56
  }
  let board = try VirtualBoard(label: "virtual-pi", folder: "/dev/sensorhub", parked: parked)
  print("gps on \(board.gpsPath), imu on \(board.imuPath), power lines on the chip '\(board.chip.label)'")
  fflush(nil)
  // The signal is handled, so that it ends nothing; the code below reacts to it.
  signal(SIGHUP) { _ in }
  while pause() != 0 {
    if board.bus != nil { board.unplugIMU() } else { try board.plugInIMU() }
  }
} catch {
  print("virtual-devices: \(error)")
  exit(1)
}
