import Glibc

/// A bar chart of the energy of each policy, as an SVG.
struct PowerPlot {
  let lines: [PowerBenchmark.Line]

  private static let policies = [("learned", "#2a7de1"), ("fixed 10 s", "#b0b0b0"), ("classical bound", "#e1a02a")]
  private static let (left, row, width) = (320, 34, 420)
  /// Longer bars are cut off.
  private static let most = 3.0

  func write(to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    let isWritten = fputs(svg, file) >= 0
    return fclose(file) == 0 && isWritten
  }

  private var svg: String {
    let height = 60 + lines.count * PowerPlot.row
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(PowerPlot.left + PowerPlot.width + 60)" height="\(height)" \
      font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>

      """
    for (index, policy) in PowerPlot.policies.enumerated() {
      let x = PowerPlot.left + index * 130
      svg += "<rect x=\"\(x)\" y=\"12\" width=\"12\" height=\"12\" fill=\"\(policy.1)\"/>"
      svg += "<text x=\"\(x + 18)\" y=\"22\">\(policy.0)</text>\n"
    }
    for mark in [1.0, 1.25, 2, 3] {
      let x = position(mark)
      svg += "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"34\" y2=\"\(height - 22)\" stroke=\"#d0d0d0\"/>"
      svg +=
        "<text x=\"\(x)\" y=\"\(height - 8)\" text-anchor=\"middle\">\(mark == 1.25 ? "1.25" : fixed(mark, 0))</text>\n"
    }
    for (index, line) in lines.enumerated() {
      let y = 40 + index * PowerPlot.row
      svg += "<text x=\"\(PowerPlot.left - 8)\" y=\"\(y + 17)\" text-anchor=\"end\">\(line.name)</text>\n"
      for (policy, ratio) in line.ratios.enumerated() {
        let end = position(min(ratio, PowerPlot.most))
        let top = y + policy * 9
        svg += "<rect x=\"\(PowerPlot.left)\" y=\"\(top)\" width=\"\(end - PowerPlot.left)\" height=\"8\" "
        svg += "fill=\"\(PowerPlot.policies[policy].1)\"/>"
        svg += "<text x=\"\(end + 4)\" y=\"\(top + 8)\" font-size=\"9\">\(fixed(ratio, 2))</text>\n"
      }
    }
    return svg + "</svg>\n"
  }

  private func position(_ ratio: Double) -> Int {
    PowerPlot.left + Int(ratio / PowerPlot.most * Double(PowerPlot.width))
  }
}
