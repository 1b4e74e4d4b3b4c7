"""Draws the figures over the number of hubs, as an SVG with one panel for each figure."""

# The figure, its title, its unit, its format, and the target line in the plot.
PANELS = [
  ("memory", "memory of a hub, its share", "MB", "{:.1f}", None),
  ("sent_with_headers", "an idle hub sends, headers included", "bytes a minute", "{:.0f}", 200),
  ("broker_memory", "memory of the broker", "MB", "{:.1f}", None),
  ("broker_idle", "processor of the broker, all idle", "ms a minute", "{:.0f}", None),
  ("restart", "all back after a broker's restart", "s", "{:.1f}", 60),
  ("restart_tries", "connections begun then, at worst", "in one second", "{:.0f}", None),
]
COLUMNS = 3
WIDTH, HEIGHT = 300, 220
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 30, 40, 240, 130


def panel(figure, title, unit, form, bound, results):
  values = [result[figure] for result in results]
  most = max([value for value in values if value is not None] + ([bound] if bound else [])) * 1.15 or 1
  step = PLOT_WIDTH / max(1, len(results))
  svg = f'<text x="{LEFT}" y="20" font-weight="bold">{title}</text><text x="{LEFT}" y="35" fill="#606060">{unit}</text>\n'
  for index, (result, value) in enumerate(zip(results, values)):
    x = LEFT + index * step + step * 0.2
    height = PLOT_HEIGHT * (value or 0) / most
    top = TOP + PLOT_HEIGHT - height
    svg += f'<rect x="{x:.1f}" y="{top:.1f}" width="{step * 0.6:.1f}" height="{height:.1f}" fill="#2a7de1"/>\n'
    words = form.format(value) if value is not None else "not all"
    svg += f'<text x="{x + step * 0.3:.1f}" y="{top - 4:.1f}" text-anchor="middle">{words}</text>\n'
    svg += f'<text x="{x + step * 0.3:.1f}" y="{TOP + PLOT_HEIGHT + 16}" text-anchor="middle">{result["hubs"]}</text>\n'
  if bound:
    y = TOP + PLOT_HEIGHT - PLOT_HEIGHT * bound / most
    svg += f'<line x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e1a02a" stroke-dasharray="5 3"/>\n'
    svg += f'<text x="{LEFT + PLOT_WIDTH}" y="{y - 4:.1f}" text-anchor="end" fill="#a06a00">at most {bound}</text>\n'
  svg += f'<line x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{TOP + PLOT_HEIGHT}" y2="{TOP + PLOT_HEIGHT}" stroke="#404040"/>\n'
  return svg


def write(path, results):
  rows = -(-len(PANELS) // COLUMNS)
  svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH}" height="{rows * HEIGHT}" font-family="sans-serif" '
         f'font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n')
  for index, one in enumerate(PANELS):
    svg += f'<g transform="translate({index % COLUMNS * WIDTH} {index // COLUMNS * HEIGHT})">\n{panel(*one, results)}</g>\n'
  with open(path, "w") as file:
    file.write(svg + "</svg>\n")
