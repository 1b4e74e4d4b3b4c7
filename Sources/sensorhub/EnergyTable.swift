import Outputs

/// A device's energy per client, one client in each line.
struct EnergyTable {
  private static let indent = String(repeating: " ", count: 11)

  /// The lines: `day      5.834 mWh in the last 24 hours`, and below it a line for each client, the largest first:
  /// milliwatt-hours, share, name.
  let lines: [String]

  /// - Parameters:
  ///   - title: for example `day`
  ///   - span: for example `in the last 24 hours`
  init(_ clients: [DevicesOfHub.ClientEnergy], title: String, span: String) {
    let sum = clients.reduce(0) { $0 + $1.milliwattHours }
    let rows = clients.sorted { ($1.milliwattHours, $0.payer) < ($0.milliwattHours, $1.payer) }
      .map { client in
        (
          energy: Text.fixed(client.milliwattHours, 3),
          share: sum > 0 ? Text.fixed(100 * client.milliwattHours / sum, 0) + " %" : "", payer: client.payer
        )
      }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let width = rows.map(\.energy.count).max() ?? 0
    let shareWidth = rows.map(\.share.count).max() ?? 0
    lines =
      ["\(Text.padded(title, 9))\(Text.fixed(sum, 3)) mWh \(span)"]
      + rows.map { "\(EnergyTable.indent)\(right($0.energy, width))  \(right($0.share, shareWidth))  \($0.payer)" }
  }
}
