import HardwareIO

/// Converts the kernel's measurements of a chip to right-handed axes: the chip's own axes, or the axes of the device
/// tree's mount matrix.
struct IIOAxes {
  /// The kernel drivers of chips with left-handed axes that report these axes unchanged.
  private static let leftHanded: Set<String> = ["lis2mdl", "lsm9ds1-imu_accel", "lsm9ds1-imu_gyro"]

  private let matrix: IIOMountMatrix
  private let invertsZ: Bool

  /// - Parameter quantity: the quantity in the kernel's names, for example `in_accel`
  /// - Throws: `.unsupported` if the mount matrix makes the axes left-handed
  init(_ device: IIODevice, _ quantity: String) throws(HardwareError) {
    matrix = try device.mountMatrix(of: "\(quantity)_x")
    let isLeftHanded = IIOAxes.leftHanded.contains(device.name)
    // If the mount matrix in the device tree mirrors the axes, it has already made them right-handed.
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
