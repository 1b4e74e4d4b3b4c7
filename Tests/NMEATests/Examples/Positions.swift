import NMEA

/// The positions in a receiver's log: NMEA 0183, UBX and CASIC, in any mixture.
func positions(in log: [UInt8]) -> [Coordinate] {
  var framer = ReceiverFramer()
  // Nothing can come late in a recording. On a live line leave the argument out.
  var assembler = EpochAssembler(promptness: .certain)
  var positions: [Coordinate] = []
  log.withUnsafeBufferPointer { bytes in
    framer.push(bytes) { frame in
      switch frame {
      case .sentence(let sentence): assembler.consume(sentence) { keep($0, &positions) }
      case .message(let message): assembler.consume(message) { keep($0, &positions) }
      }
    }
  }
  assembler.finish { keep($0, &positions) }
  return positions
}

private func keep(_ epoch: borrowing GNSSEpoch, _ positions: inout [Coordinate]) {
  if epoch.fix.mode >= .twoDimensional, let position = epoch.fix.position { positions.append(position) }
}
