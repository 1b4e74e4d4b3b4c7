import Fusion
import Outputs
import SystemPackage

/// Writes fused measurements to standard output, one per row.
struct FusedTable: ~Copyable {
  private let frame: Fuse.Frame
  private var text = JSONWriter(capacity: 1 << 17)
  /// Whether the output is still read. A reader such as `head` stops after a few rows.
  private(set) var isTaken = true

  /// - Parameter hasPosition: whether rows have columns for the position after the quaternion
  init(frame: Fuse.Frame, hasPosition: Bool) {
    self.frame = frame
    text.fragment(
      hasPosition ? "t,qw,qx,qy,qz,lat,lon,alt,vn,ve,vd,sn,se,sd,svn,sve,svd,mode\n" : "t,qw,qx,qy,qz\n")
  }

  mutating func write(time: Double, attitude: Quaternion) throws {
    begin(time, attitude)
    try end()
  }

  mutating func write(time: Double, _ filter: borrowing NavigationFilter) throws {
    begin(time, filter.attitude)
    if let position = filter.position {
      add(position.latitudeDegrees, 10)
      add(position.longitudeDegrees, 10)
      add(position.altitude, 4)
    } else {
      text.fragment(",,,")
    }
    add(filter.velocity)
    add(filter.positionSigma)
    add(filter.velocitySigma)
    switch filter.mode {
    case .none, .asleep: text.fragment(",none")
    case .attitude: text.fragment(",attitude")
    case .gnss: text.fragment(",gnss")
    case .fused: text.fragment(",fused")
    case .deadReckoning: text.fragment(",deadReckoning")
    }
    try end()
  }

  mutating func flush() throws {
    do {
      if isTaken { _ = try FileDescriptor.standardOutput.writeAll(text.bytes) }
    } catch Errno.brokenPipe {
      isTaken = false
    } catch let error as Errno {
      throw Terminal.isNotWritten(error)
    }
    text.removeAll()
  }

  private mutating func begin(_ time: Double, _ attitude: Quaternion) {
    let attitude = frame == .enu ? attitude.inEastNorthUp : attitude
    text.fragment(time, decimals: 6)
    add(attitude.w, 9)
    add(attitude.x, 9)
    add(attitude.y, 9)
    add(attitude.z, 9)
  }

  private mutating func add(_ value: Double, _ decimals: Int) {
    text.fragment(",")
    text.fragment(value, decimals: decimals)
  }

  private mutating func add(_ vector: SIMD3<Double>?) {
    guard let vector else { return text.fragment(",,,") }
    add(vector.x, 4)
    add(vector.y, 4)
    add(vector.z, 4)
  }

  private mutating func end() throws {
    text.fragment("\n")
    if text.count > 1 << 16 { try flush() }
  }
}
