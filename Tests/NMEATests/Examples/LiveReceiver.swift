import Glibc
import NMEA

/// The part of an epoch that a display shows.
struct Summary: Equatable {
  var mode: FixMode
  var position: Coordinate?
  /// The satellites that are part of the solution, strongest first; empty if the epoch has no list.
  var satellites: [Satellite]

  init(_ epoch: borrowing GNSSEpoch) {
    mode = epoch.fix.mode
    position = epoch.fix.position
    // The list points into the assembler, so it is copied before the epoch's call returns.
    satellites = epoch.sky.satellites.filter(\.isUsed).sorted { $0.signalStrength > $1.signalStrength }
  }
}

/// Reads a receiver until its line ends, and passes each epoch on as soon as it is complete.
///
/// - Parameter line: a serial port whose speed is set, or a connection to a receiver's network port
func readReceiver(_ line: Int32, receive: (Summary) -> Void) {
  var framer = ReceiverFramer()
  var assembler = EpochAssembler()
  var buffer = [UInt8](repeating: 0, count: 4096)
  while true {
    // A silence that is longer than those within an epoch ends the epoch. Without an open epoch this waits without a
    // limit, so the program does not wake up while the receiver says nothing.
    let milliseconds = assembler.silenceThatEnds.map { Int32($0 / 1_000_000) } ?? -1
    var readable = pollfd(fd: line, events: Int16(POLLIN), revents: 0)
    guard poll(&readable, 1, milliseconds) > 0 else {
      assembler.finish { receive(Summary($0)) }
      continue
    }
    let count = read(line, &buffer, buffer.count)
    guard count > 0 else { break }
    let readAt = monotonicNanoseconds()
    buffer.withUnsafeBufferPointer { bytes in
      framer.push(UnsafeBufferPointer(rebasing: bytes[..<count]), readAt: readAt) { frame in
        switch frame {
        case .sentence(let sentence): assembler.consume(sentence) { receive(Summary($0)) }
        case .message(let message): assembler.consume(message) { receive(Summary($0)) }
        }
      }
    }
  }
  assembler.finish { receive(Summary($0)) }
}

private func monotonicNanoseconds() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}
