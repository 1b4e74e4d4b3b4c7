public typealias MagnetometerChip = Chip<any PolledDriver<MagnetometerSample>, PolledConfiguration>

extension MagnetometerChip {
  /// The commonest first.
  public static var all: [MagnetometerChip] { [.lis3mdl] }
}
