import Hub
import Outputs
import Recording

/// How long a recorder's budget lasts, and what the recorder leaves out.
enum RecorderOutlook {
  /// The lines to print, without line ends. The rate is that of the files in the recorder's folder on this machine.
  ///
  /// - Parameter requests: the requests of the board file, which the recorder records
  static func lines(_ record: RecordSettings, _ requests: [StandingRequest]) -> [String] {
    let files = (try? RecordingFiles([record.path], leftOut: { _ in }))?.files ?? []
    let lasting =
      if let rate = RecordingRate(of: files) {
        "\(record.maximumMegabytes) MB hold \(RecordingRate.text(seconds: rate.seconds(for: record.maximumMegabytes))) of "
          + "recording, at the \(RecordingContents.size(UInt64(rate.bytesPerSecond * 3600))) an hour measured so far"
      } else {
        "the hub knows how long \(record.maximumMegabytes) MB last after it has recorded for half a minute"
      }
    return [lasting] + [gap(in: record, requests)].compactMap { $0 }
  }

  /// A sentence about what the recorder leaves out while no client watches; `nil` if it leaves out nothing.
  static func gap(in record: RecordSettings, _ requests: [StandingRequest]) -> String? {
    if record.wakes { return nil }
    if requests.isEmpty {
      return "a trip that no client watches is not recorded: to record it, set 'wakes: true' in 'record'"
    }
    let names = requests.map { "'\($0.name)'" }.joined(separator: ", ")
    return "of a trip that no client watches, the fixes of the requests are recorded: \(names)"
  }
}
