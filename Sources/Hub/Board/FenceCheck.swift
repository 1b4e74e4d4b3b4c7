import Devices
import MonotonicTime

/// Checks fences against the usual accuracy and the shortest start of receivers, without waking a receiver.
struct FenceCheck {
  /// The radius that contains 95 % of fixes, metres. For 50 % of fixes under an open sky, data sheets state 2.5 m
  /// (u-blox NEO-6 and NEO-M8, Quectel L76), which is 5.2 m for 95 %. With corrections they state 1 m or less.
  private static let radiusMetres = (alone: 5.0, corrected: 2.0)
  /// The smallest sensible radius of a circle, in multiples of the fix radius. In such a circle, a fix within two
  /// thirds of the radius (4/9 of the area) is certainly inside. In a smaller circle most fixes are in doubt, which
  /// keeps the receiver on, and noise that lasts for the grace counts as leaving.
  private static let leastRadii = 3.0
  /// The shortest time from power-on to the first fix, seconds. Data sheets state one second for a hot start, and the
  /// receiver must boot.
  private static let hotStartSeconds = 2.0
  /// The rate of a receiver for which the board file sets none.
  private static let usualHertz = 1.0

  private let isCorrected: Bool
  private let startSeconds: Double

  /// - Parameter receivers: the fused receivers, at least one; the corrections of any of them count, and the shortest
  ///   start
  init(_ receivers: [ReceiverDescription]) {
    isCorrected = receivers.contains { $0.caster != nil }
    // The first fix after a start is inaccurate, and is not used.
    startSeconds =
      receivers.map { receiver in
        let hertz = receiver.settings.rateHz ?? FenceCheck.usualHertz
        return receiver.power.settleTime.inSeconds + FenceCheck.hotStartSeconds
          + Double(SchedulePlan.leastFixes - 1) / hertz
      }.min() ?? 0
  }

  /// Why most fixes cannot show on which side of the fence the board is, and the next step; `nil` if they can.
  func doubt(of fence: FenceSettings) -> String? {
    let radius = isCorrected ? FenceCheck.radiusMetres.corrected : FenceCheck.radiusMetres.alone
    let least = FenceCheck.leastRadii * radius
    guard !fence.area.holdsCircle(ofRadius: least) else { return nil }
    let words: (size: String, remedy: String) =
      switch fence.area.shape {
      case .circle(_, let own):
        ("its radius of \(own.short) m is", "make it \(least.short) m or more")
      case .polygon: ("it is less than \((2 * least).short) m wide everywhere, which is", "make it wider")
      }
    let corrections = isCorrected ? "" : ", or give the receiver corrections ('ntrip')"
    return
      "\(words.size) too little for fixes with a usual accuracy of \(radius.short) m: the hub would be unsure most "
      + "of the time, and report noise as leaving; \(words.remedy)\(corrections)"
  }

  /// Why the grace is too short for a receiver's start, and the next step; `nil` if it is long enough.
  func haste(of fence: FenceSettings) -> String? {
    let grace = fence.grace.inSeconds
    guard grace < startSeconds else { return nil }
    return "a grace of \(grace.short) s is less than a receiver needs to start, \(startSeconds.short) s at best: near "
      + "the edge the receiver could not sleep, and leaving would be noticed later; raise 'grace'"
  }
}
