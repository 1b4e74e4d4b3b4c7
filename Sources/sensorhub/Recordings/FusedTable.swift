import Fusion
import Outputs
import SystemPackage

/// Writes fused measurements to standard output, a row each.
struct FusedTable: ~Copyable {
  private let frame: Fuse.Frame
  private var text = JSONWriter(capacity: 1 << 16)

  init(frame: Fuse.Frame) {
    self.frame = frame
    text.fragment("t,qw,qx,qy,qz\n")
  }

  mutating func write(time: Double, attitude: Quaternion) throws {
    let attitude = frame == .enu ? attitude.inEastNorthUp : attitude
    text.fragment(time, decimals: 6)
    for value in [attitude.w, attitude.x, attitude.y, attitude.z] {
      text.fragment(",")
      text.fragment(value, decimals: 9)
    }
    text.fragment("\n")
    if text.count > 1 << 16 { try flush() }
  }

  mutating func flush() throws {
    _ = try FileDescriptor.standardOutput.writeAll(text.bytes)
    text.removeAll()
  }
}
