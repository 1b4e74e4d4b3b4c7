import HardwareIO

/// Converts the kernel's measurements of a chip to right-handed axes: the chip's own, or those of the device tree.
struct IIOAxes {
  /// Whose drivers hand on axes that are left-handed, as the chip has them.
  private static let leftHanded: Set<String> = ["lis2mdl", "lsm9ds1-imu_accel", "lsm9ds1-imu_gyro"]

  private let matrix: IIOMountMatrix
  private let invertsZ: Bool

  /// - Parameter quantity: `in_accel`
  init(_ device: IIODevice, _ quantity: String) throws(HardwareError) {
    matrix = try device.mountMatrix(of: "\(quantity)_x")
    let isLeftHanded = IIOAxes.leftHanded.contains(device.name)
    // Who mirrors them in the device tree has put them right there.
    invertsZ = isLeftHanded && !matrix.mirrors
    if matrix.mirrors, !isLeftHanded {
      throw .unsupported("the axes of \(device) are left-handed: its mount-matrix in the device tree mirrors them")
    }
  }

  func turn(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    matrix.apply(SIMD3(vector.x, vector.y, invertsZ ? -vector.z : vector.z))
  }
}
