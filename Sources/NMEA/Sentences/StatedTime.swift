extension Sentence {
  /// The time that it states, and the date if it has one; `nil` for a sentence without. For logs, which are in the order of these.
  public var statedTime: (time: TimeOfDay, date: CalendarDate?)? {
    let (time, date): (TimeOfDay?, CalendarDate?) =
      switch content {
      case .rmc(let rmc): (rmc.time, rmc.date)
      case .zda(let zda): (zda.time, zda.date)
      case .gga(let gga): (gga.time, nil)
      case .gll(let gll): (gll.time, nil)
      case .gns(let gns): (gns.time, nil)
      case .gst(let gst): (gst.time, nil)
      case .gbs(let gbs): (gbs.time, nil)
      case .grs(let grs): (grs.time, nil)
      default: (nil, nil)
      }
    return time.map { ($0, date) }
  }
}
