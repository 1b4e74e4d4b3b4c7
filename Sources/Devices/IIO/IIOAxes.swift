import HardwareIO

/// Converts the kernel's measurements of a chip to right-handed axes: the chip's own axes, or the axes of the device
/// tree's mount matrix.
struct IIOAxes {
  /// The drivers that pass on left-handed axes, as the chip has them.
  private static let leftHanded: Set<String> = ["lis2mdl", "lsm9ds1-imu_accel", "lsm9ds1-imu_gyro"]

  private let matrix: IIOMountMatrix
  private let invertsZ: Bool

  /// - Parameter quantity: for example `in_accel`
  init(_ device: IIODevice, _ quantity: String) throws(HardwareError) {
    matrix = try device.mountMatrix(of: "\(quantity)_x")
    let isLeftHanded = IIOAxes.leftHanded.contains(device.name)
    // A device tree that mirrors the axes has already corrected them.
    invertsZ = isLeftHanded && !matrix.mirrors
    if matrix.mirrors, !isLeftHanded {
      throw .unsupported(
        "the axes of \(device) are left-handed, because its mount-matrix in the device tree mirrors them")
    }
  }

  func turn(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    matrix.apply(SIMD3(vector.x, vector.y, invertsZ ? -vector.z : vector.z))
  }
}
