import UBX

/// A position of a u-blox receiver, and how far it may be from the truth.
struct Solution: Equatable {
  var latitudeDegrees: Double
  var longitudeDegrees: Double
  var horizontalAccuracyMetres: Double
  var isRTKFixed: Bool
}

/// The solutions in a log, or in the bytes that one read returned.
func solutions(in bytes: [UInt8], of framer: inout BinaryFramer) -> [Solution] {
  var solutions: [Solution] = []
  bytes.withUnsafeBufferPointer { bytes in
    framer.push(bytes, readAt: 0) { piece in
      // The message points into the buffer, so its values are copied here. Sentences between messages are left out.
      guard case .message(let message) = piece, message.format == .ubx, let solution = NavigationPVT(message),
        solution.isFixOK, solution.isPositionValid
      else { return }
      solutions.append(
        Solution(
          latitudeDegrees: solution.latitudeDegrees, longitudeDegrees: solution.longitudeDegrees,
          horizontalAccuracyMetres: solution.horizontalAccuracyMetres, isRTKFixed: solution.carrier == .fixed))
    }
  }
  return solutions
}
