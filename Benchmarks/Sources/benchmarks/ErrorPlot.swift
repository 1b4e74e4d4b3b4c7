import Glibc

/// A bar chart of the errors of each journey, as an SVG: the share of the time outside the bound, and the error that is
/// exceeded for 5 % of the time as a multiple of the bound.
struct ErrorPlot {
  let lines: [ErrorBenchmark.Line]

  private static let policies = [
    ("error-bounded", "#2a7de1"), ("fixed interval, dead reckoning", "#e1a02a"),
    ("fixed interval, last fix", "#b0b0b0"),
  ]
  private static let (left, row, width, gap) = (300, 38, 260, 70)
  private static let (mostOutside, mostError) = (50.0, 4.0)

  func write(to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    let isWritten = fputs(svg, file) >= 0
    return fclose(file) == 0 && isWritten
  }

  private var svg: String {
    let height = 84 + lines.count * ErrorPlot.row
    let right = ErrorPlot.left + ErrorPlot.width + ErrorPlot.gap
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(right + ErrorPlot.width + 60)" height="\(height)" \
      font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>

      """
    for (index, policy) in ErrorPlot.policies.enumerated() {
      let x = ErrorPlot.left + index * 210
      svg += "<rect x=\"\(x)\" y=\"10\" width=\"12\" height=\"12\" fill=\"\(policy.1)\"/>"
      svg += "<text x=\"\(x + 18)\" y=\"20\">\(policy.0)</text>\n"
    }
    svg += panel(
      "% of the time outside the bound", at: ErrorPlot.left, height, marks: [5, 25, 50], ErrorPlot.mostOutside)
    svg += panel("95 % error, multiples of the bound", at: right, height, marks: [1, 2, 4], ErrorPlot.mostError)
    for (index, line) in lines.enumerated() {
      let y = 60 + index * ErrorPlot.row
      let name = "\(line.name), \(fixed(line.bound, 0)) m: on \(fixed(100 * line.bounded.onShare, 1)) %"
      svg += "<text x=\"\(ErrorPlot.left - 8)\" y=\"\(y + 18)\" text-anchor=\"end\">\(name)</text>\n"
      for (policy, errors) in line.errors.enumerated() {
        let (top, colour) = (y + policy * 10, ErrorPlot.policies[policy].1)
        let outside = 100 * (1 - errors.share(within: line.bound))
        svg += bar(outside, of: ErrorPlot.mostOutside, at: ErrorPlot.left, top, colour, decimals: 1)
        svg += bar(errors.percentile95 / line.bound, of: ErrorPlot.mostError, at: right, top, colour, decimals: 2)
      }
    }
    return svg + "</svg>\n"
  }

  private func panel(_ title: String, at x: Int, _ height: Int, marks: [Double], _ most: Double) -> String {
    var svg = "<text x=\"\(x)\" y=\"44\" font-weight=\"bold\">\(title)</text>\n"
    for mark in marks {
      let end = x + length(mark, of: most)
      svg += "<line x1=\"\(end)\" x2=\"\(end)\" y1=\"52\" y2=\"\(height - 20)\" stroke=\"#d0d0d0\"/>"
      svg += "<text x=\"\(end)\" y=\"\(height - 6)\" text-anchor=\"middle\">\(fixed(mark, 0))</text>\n"
    }
    return svg
  }

  /// Bars that are longer than the panel are cut off, and their number says how long they are.
  private func bar(
    _ value: Double, of most: Double, at x: Int, _ top: Int, _ colour: String, decimals: Int
  ) -> String {
    let width = length(min(value, most), of: most)
    let rect = "<rect x=\"\(x)\" y=\"\(top)\" width=\"\(width)\" height=\"9\" fill=\"\(colour)\"/>"
    return rect + "<text x=\"\(x + width + 4)\" y=\"\(top + 8)\" font-size=\"9\">\(fixed(value, decimals))</text>\n"
  }

  private func length(_ value: Double, of most: Double) -> Int { Int(value / most * Double(ErrorPlot.width)) }
}
