import Glibc

/// A bar chart as an SVG. Panels stand next to each other. Each row has a name and, in each panel, a bar for each series.
struct BarChart {
  struct Series {
    var name: String
    var colour: String
  }

  struct Panel {
    var title = ""
    /// The values with a line from top to bottom.
    var marks: [Double]
    /// The value at the right edge. Longer bars are cut off, and their number says how long they are.
    var most: Double
    var decimals = 2
    /// The width in pixels.
    var width = 260
  }

  struct Row {
    var name: String
    /// The value of each series, for each panel.
    var values: [[Double]]
  }

  let series: [Series]
  let panels: [Panel]
  let rows: [Row]

  private static let (left, top, gap) = (320, 60, 70)
  private static let (barHeight, rowGap) = (9, 8)

  private var rowHeight: Int { series.count * (BarChart.barHeight + 1) + BarChart.rowGap }
  private var height: Int { BarChart.top + rows.count * rowHeight + 24 }

  func write(to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    let isWritten = fputs(svg, file) >= 0
    return fclose(file) == 0 && isWritten
  }

  private var svg: String {
    let width = panels.reduce(BarChart.left) { $0 + $1.width + BarChart.gap }
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>

      """
    var x = BarChart.left
    for one in series {
      svg += "<rect x=\"\(x)\" y=\"10\" width=\"12\" height=\"12\" fill=\"\(one.colour)\"/>"
      svg += "<text x=\"\(x + 18)\" y=\"20\">\(one.name)</text>\n"
      x += 42 + 6 * one.name.count
    }
    for (index, row) in rows.enumerated() {
      let y = BarChart.top + index * rowHeight + rowHeight / 2
      svg += "<text x=\"\(BarChart.left - 8)\" y=\"\(y)\" text-anchor=\"end\">\(row.name)</text>\n"
    }
    x = BarChart.left
    for (index, panel) in panels.enumerated() {
      svg += draw(panel, values: rows.map { $0.values[index] }, at: x)
      x += panel.width + BarChart.gap
    }
    return svg + "</svg>\n"
  }

  private func draw(_ panel: Panel, values: [[Double]], at x: Int) -> String {
    func length(_ value: Double) -> Int { Int(min(value, panel.most) / panel.most * Double(panel.width)) }
    var svg = "<text x=\"\(x)\" y=\"44\" font-weight=\"bold\">\(panel.title)</text>\n"
    for mark in panel.marks {
      let end = x + length(mark)
      let text = fixed(mark, mark == mark.rounded() ? 0 : 2)
      svg += "<line x1=\"\(end)\" x2=\"\(end)\" y1=\"52\" y2=\"\(height - 20)\" stroke=\"#d0d0d0\"/>"
      svg += "<text x=\"\(end)\" y=\"\(height - 6)\" text-anchor=\"middle\">\(text)</text>\n"
    }
    for (row, ofRow) in values.enumerated() {
      for (one, value) in ofRow.enumerated() {
        let (y, end) = (BarChart.top + row * rowHeight + one * (BarChart.barHeight + 1), x + length(value))
        svg += "<rect x=\"\(x)\" y=\"\(y)\" width=\"\(end - x)\" height=\"\(BarChart.barHeight)\" "
        svg += "fill=\"\(series[one].colour)\"/>"
        svg += "<text x=\"\(end + 4)\" y=\"\(y + 8)\" font-size=\"9\">\(fixed(value, panel.decimals))</text>\n"
      }
    }
    return svg
  }
}
