import UBX

/// A time of day, with the date if known. A replay of a log uses these times.
public struct StatedTime: Sendable {
  public var time: TimeOfDay
  public var date: CalendarDate?
}

extension Sentence {
  /// The stated time; `nil` for a sentence without a time.
  public var statedTime: StatedTime? {
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
    return time.map { StatedTime(time: $0, date: date) }
  }
}

extension BinaryFrame {
  /// The stated time of NAV-PVT, HNR-PVT, NAV-TIMEUTC, NAV-TIMEGPS and CASIC's NAV-TIMEUTC; `nil` if it is not valid,
  /// and for all other messages, which state at most a GPS time without leap seconds.
  public var statedTime: StatedTime? {
    let stated: NavigationDate? =
      switch format {
      case .ubx: NavigationPVT(self)?.date ?? NavigationUTC(self)?.date ?? NavigationTime(self)?.date
      case .casic: CASICTime(self)?.date
      case .rtcm3: nil
      }
    return stated.flatMap { stated in
      guard let time = UTCTime(stated) else { return nil }
      let components = time.components
      return StatedTime(
        time: TimeOfDay(
          second: components.hour * 3600 + components.minute * 60 + components.second,
          nanosecond: components.nanosecond),
        date: components.date)
    }
  }
}

extension UTCTime {
  /// `nil` if year, month or day is out of range.
  init?(_ stated: NavigationDate) {
    guard let day = CalendarDate(year: stated.year, month: stated.month, day: stated.day) else { return nil }
    self.init(date: day, time: TimeOfDay(second: stated.hour * 3600 + stated.minute * 60 + stated.second))
    nanosecondsSince1970 += Int64(stated.nanosecond)
  }

  /// - Parameters:
  ///   - week: the week since 1980-01-06
  ///   - leapSeconds: how far GPS time is ahead of UTC, seconds
  init(gpsWeek week: Int16, timeOfWeekMilliseconds: UInt32, fractionNanoseconds: Int32, leapSeconds: Int64) {
    let seconds = 315_964_800 + Int64(week) * 604_800 - leapSeconds
    self.init(
      nanosecondsSince1970: seconds * 1_000_000_000 + Int64(timeOfWeekMilliseconds) * 1_000_000
        + Int64(fractionNanoseconds))
  }
}

extension NavigationTime {
  /// The UTC date, once week and leap seconds are known.
  fileprivate var date: NavigationDate? {
    guard let week, let leapSeconds else { return nil }
    let components = UTCTime(
      gpsWeek: week, timeOfWeekMilliseconds: timeOfWeekMilliseconds, fractionNanoseconds: fractionNanoseconds,
      leapSeconds: Int64(leapSeconds)
    ).components
    return NavigationDate(
      year: Int(components.date.year), month: Int(components.date.month), day: Int(components.date.day),
      hour: components.hour, minute: components.minute, second: components.second, nanosecond: components.nanosecond)
  }
}
