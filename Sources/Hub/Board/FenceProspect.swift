import Devices
import MonotonicTime

/// Statements about fences before any receiver has been woken for one: the usual capabilities of receivers.
struct FenceProspect {
  /// Within which 95 of 100 fixes are, metres. Data sheets promise 2.5 m for one half of them under an open sky (u-blox NEO-6 and
  /// NEO-M8, Quectel L76), which is 5.2 m for 95 %; with corrections they promise 1 m or less for one half.
  private static let radiusMetres = (alone: 5.0, corrected: 2.0)
  /// A circle should be this number of times as wide: a fix within two thirds of its radius, 4/9 of its area, is then
  /// certainly inside. In smaller circles most fixes are in doubt, which keeps the receiver on, and noise counts as
  /// leaving once it lasts for the grace.
  private static let leastRadii = 3.0
  /// From power to the first fix at best: data sheets promise a second for a hot start, and it has to boot.
  private static let hotStartSeconds = 2.0
  /// Of a receiver that is not told otherwise.
  private static let usualHertz = 1.0

  private let isCorrected: Bool
  private let startSeconds: Double

  /// - Parameter receivers: the fused ones, at least one; the most capable of them counts
  init(_ receivers: [ReceiverDescription]) {
    isCorrected = receivers.contains { $0.caster != nil }
    // The first fix after a start is a poor one, and is not taken.
    startSeconds =
      receivers.map { receiver in
        let hertz = receiver.settings.rateHz ?? FenceProspect.usualHertz
        return receiver.power.settleTime.inSeconds + FenceProspect.hotStartSeconds
          + Double(SchedulePlan.leastFixes - 1) / hertz
      }.min() ?? 0
  }

  /// Why fixes can hardly tell on which side they are, and what to do; `nil` where they can.
  func doubt(of fence: FenceSettings) -> String? {
    let radius = isCorrected ? FenceProspect.radiusMetres.corrected : FenceProspect.radiusMetres.alone
    let least = FenceProspect.leastRadii * radius
    guard !fence.area.holdsCircle(ofRadius: least) else { return nil }
    let words: (size: String, remedy: String) =
      switch fence.area.shape {
      case .circle(_, let own):
        ("\(own.short) m from its middle to its edge are", "make it \(least.short) m or more")
      case .polygon: ("nowhere is it \((2 * least).short) m wide, which is", "make it wider")
      }
    let corrections = isCorrected ? "" : ", or give the receiver corrections ('ntrip')"
    return "\(words.size) little for fixes that are good to \(radius.short) m as a rule: it would be in doubt for most "
      + "of the time, and take their noise for leaving; \(words.remedy)\(corrections)"
  }

  /// The reason why a start takes longer than the grace, and the next step; `nil` if it does not.
  func haste(of fence: FenceSettings) -> String? {
    let grace = fence.grace.inSeconds
    guard grace < startSeconds else { return nil }
    return "a grace of \(grace.short) s is less than a receiver takes to start, \(startSeconds.short) s at best: near "
      + "the edge it could not sleep, and who leaves would be noticed later; raise 'grace'"
  }
}
