// Plays the peripherals of boards/virtual.json5 on the virtual bench: needs gpio-sim and the kernel module i2c-relay. SIGHUP pulls
// the IMU's bus, the next one plugs it in again.

import Glibc
import VirtualBench

do {
  let board = try VirtualBoard(label: "virtual-pi", folder: "/dev/sensorhub")
  print("gps on \(board.gpsPath), imu on \(board.imuPath), power lines on the chip '\(board.chip.label)'")
  fflush(nil)
  // Heard, so that it ends nothing; what is to be done is done below.
  signal(SIGHUP) { _ in }
  while pause() != 0 {
    if board.bus != nil { board.unplugIMU() } else { try board.plugInIMU() }
  }
} catch {
  print("virtual-devices: \(error)")
  exit(1)
}
