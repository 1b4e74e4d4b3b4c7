public typealias MagnetometerChip = Chip<any PolledDriver<MagnetometerSample>, PolledConfiguration>

extension MagnetometerChip {
  /// The commonest first.
  public static var all: [MagnetometerChip] { [.qmc5883l, .hmc5883l, .lis3mdl, .lis2mdl, .qmc5883p] }
}
