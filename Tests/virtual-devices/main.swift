// Plays the peripherals of boards/virtual.json5 on the virtual bench: needs gpio-sim and the kernel module i2c-relay.

import Glibc
import VirtualBench

do {
  let board = try VirtualBoard(label: "virtual-pi", folder: "/dev/sensorhub")
  print("gps on \(board.gpsPath), imu on \(board.imuPath), power lines on the chip '\(board.chip.label)'")
  fflush(nil)
  withExtendedLifetime(board) { while pause() != 0 {} }
} catch {
  print("virtual-devices: \(error)")
  exit(1)
}
