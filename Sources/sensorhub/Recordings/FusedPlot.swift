import Fusion
import Outputs
import SystemPackage

/// Draws the results of the fusion as an SVG: the track, the attitude and the sigmas.
struct FusedPlot {
  private struct Point {
    var time: Double
    var attitude: Quaternion
    var position: GeodeticPosition?
    var horizontalSigma: Double?
    var mode: FusedState.Mode
  }

  /// The maximum number of points; no screen shows more. When it is reached, every other point is removed.
  private static let limit = 4000
  private static let width = 900.0
  private static let panelHeight = 260.0
  private static let margin = 56.0

  private var points: [Point] = []
  private var stride = 1
  private var count = 0

  mutating func add(time: Double, attitude: Quaternion) {
    add(Point(time: time, attitude: attitude, position: nil, horizontalSigma: nil, mode: .attitude))
  }

  mutating func add(time: Double, _ filter: borrowing NavigationFilter) {
    let sigma = filter.positionSigma.map { ($0.x * $0.x + $0.y * $0.y).squareRoot() }
    add(
      Point(
        time: time, attitude: filter.attitude, position: filter.position, horizontalSigma: sigma, mode: filter.mode))
  }

  private mutating func add(_ point: Point) {
    defer { count += 1 }
    guard count % stride == 0 else { return }
    points.append(point)
    guard points.count >= FusedPlot.limit else { return }
    points = points.indices.filter { $0 % 2 == 0 }.map { points[$0] }
    stride *= 2
  }

  func write(to output: ExportOutput) throws {
    do {
      try Array(svg.utf8).withUnsafeBytes { try output.write($0) }
    } catch let error as Errno {
      throw CommandError(
        .inputOutput, "\(output.name) cannot be written: \(error)", nextStep: "check the free space of its disk")
    }
    try output.finish()
  }

  private var svg: String {
    let track = points.compactMap { point in point.position.map { (position: $0, mode: point.mode) } }
    var panels: [String] = []
    if let origin = track.first?.position {
      let path = track.map { entry in
        let offset = entry.position.offset(from: origin)
        return (x: offset.y, y: offset.x, isCoasting: entry.mode == .deadReckoning)
      }
      panels.append(trackPanel(path))
    }
    let degrees = 180 / Double.pi
    panels.append(
      panel(
        "roll, pitch, yaw in degrees", offset: panels.count,
        [
          ("roll", "#0072b2", points.map { ($0.time, $0.attitude.roll * degrees) }),
          ("pitch", "#d55e00", points.map { ($0.time, $0.attitude.pitch * degrees) }),
          ("yaw", "#009e73", points.map { ($0.time, $0.attitude.yaw * degrees) }),
        ]))
    let sigmas = points.compactMap { point in point.horizontalSigma.map { (point.time, $0) } }
    if !sigmas.isEmpty {
      panels.append(panel("horizontal sigma in metres", offset: panels.count, [("sigma", "#cc79a7", sigmas)]))
    }
    let height = Double(panels.count) * FusedPlot.panelHeight
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(FusedPlot.width)) \(number(height))" \
      font-family="sans-serif" font-size="12" role="img" aria-label="fused track, attitude and sigmas">
      <rect width="100%" height="100%" fill="white"/>
      \(panels.joined(separator: "\n"))
      </svg>

      """
  }

  /// The track, with east to the right, north up, and one scale for both. Dead-reckoned parts have another colour.
  private func trackPanel(_ path: [(x: Double, y: Double, isCoasting: Bool)]) -> String {
    let (left, right) = range(path.map(\.x))
    let (bottom, top) = range(path.map(\.y))
    let room = FusedPlot.panelHeight - FusedPlot.margin
    let scale = min((FusedPlot.width - 2 * FusedPlot.margin) / (right - left), room / (top - bottom))
    func place(_ point: (x: Double, y: Double, isCoasting: Bool)) -> String {
      "\(number(FusedPlot.margin + (point.x - left) * scale)),\(number(30 + (top - point.y) * scale))"
    }
    var lines: [String] = []
    var start = 0
    for index in path.indices where index == path.count - 1 || path[index + 1].isCoasting != path[index].isCoasting {
      let piece = path[start...min(index + 1, path.count - 1)].map(place).joined(separator: " ")
      let colour = path[index].isCoasting ? "#d55e00" : "#0072b2"
      lines.append("<polyline fill=\"none\" stroke=\"\(colour)\" stroke-width=\"1.5\" points=\"\(piece)\"/>")
      start = index
    }
    return "<text x=\"8\" y=\"18\">track, \(number(right - left)) m by \(number(top - bottom)) m, north up; "
      + "dead reckoning <tspan fill=\"#d55e00\">orange</tspan></text>\n" + lines.joined(separator: "\n")
  }

  private func panel(
    _ title: String, offset: Int, _ series: [(name: String, colour: String, values: [(Double, Double)])]
  ) -> String {
    let top = Double(offset) * FusedPlot.panelHeight + 30
    let height = FusedPlot.panelHeight - FusedPlot.margin
    let (first, last) = range(series.flatMap { $0.values.map(\.0) })
    let (low, high) = range(series.flatMap { $0.values.map(\.1) })
    let width = FusedPlot.width - 2 * FusedPlot.margin
    let names = series.map { "<tspan fill=\"\($0.colour)\">\($0.name)</tspan>" }.joined(separator: " ")
    var lines = [
      "<text x=\"8\" y=\"\(number(top - 12))\">\(title): \(names)</text>",
      "<rect x=\"\(number(FusedPlot.margin))\" y=\"\(number(top))\" width=\"\(number(width))\" height=\"\(number(height))\" fill=\"none\" stroke=\"#bbb\"/>",
      "<text x=\"4\" y=\"\(number(top + 10))\">\(number(high))</text>",
      "<text x=\"4\" y=\"\(number(top + height))\">\(number(low))</text>",
      "<text x=\"\(number(FusedPlot.margin))\" y=\"\(number(top + height + 16))\">\(number(first)) s</text>",
      "<text x=\"\(number(FusedPlot.margin + width))\" y=\"\(number(top + height + 16))\" text-anchor=\"end\">\(number(last)) s</text>",
    ]
    for one in series {
      let path = one.values.map { time, value in
        "\(number(FusedPlot.margin + (time - first) / (last - first) * width)),"
          + number(top + (high - value) / (high - low) * height)
      }
      lines.append(
        "<polyline fill=\"none\" stroke=\"\(one.colour)\" points=\"\(path.joined(separator: " "))\"/>")
    }
    return lines.joined(separator: "\n")
  }

  /// The range of values. It is never empty, to avoid a division by zero.
  private func range(_ values: [Double]) -> (Double, Double) {
    let (low, high) = (values.min() ?? 0, values.max() ?? 0)
    return high - low < 1e-9 ? (low - 0.5, high + 0.5) : (low, high)
  }

  private func number(_ value: Double) -> String { Text.fixed(value, 1) }
}
