import MonotonicTime

/// Bounds how often requests from a broker can switch a device's supply.
///
/// A device without a minimum time on or off follows its clients. A viewer, or a hostile broker, that begins and ends a
/// request again and again would therefore switch its supply every few seconds. The first `most` starts in an hour have
/// no minimum duration, so that a short request wakes the devices only for its own duration. Each further start keeps
/// its devices awake for at least `floor`. The devices therefore start at most 90 times an hour for viewers.
struct RequestStarts: Sendable {
  /// The number of starts in a `window` after which devices stay awake.
  static let most = 60
  static let window = Duration.seconds(3600)
  /// How long devices stay awake after each start that follows `most` starts in a `window`.
  static let floor = Duration.seconds(120)

  /// The times of the starts without a minimum duration, at most an hour ago.
  private var starts: [MonotonicInstant] = []

  /// Records that a request may start a device.
  ///
  /// - Returns: whether the device must stay awake for `floor`
  mutating func note(at now: MonotonicInstant) -> Bool {
    starts.removeAll { now - $0 >= RequestStarts.window }
    if starts.count >= RequestStarts.most { return true }
    starts.append(now)
    return false
  }
}
