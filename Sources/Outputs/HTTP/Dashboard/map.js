// The common parts of the pages' maps: a canvas, a projection, a view of some places, a grid and its scale.

/** Prepares a canvas at the screen's own resolution. Returns its context, its size and the size of letters, in CSS pixels. */
export function prepare(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  const { fontSize, fontFamily } = getComputedStyle(document.body);
  const letters = parseFloat(fontSize) * 0.78;
  pen.font = `${letters}px ${fontFamily}`;
  pen.lineJoin = pen.lineCap = "round";
  return { pen, width, height, letters };
}

// Web Mercator, the projection of map tiles. The whole world is from 0 to 1.
export function mercator({ lat, lon }) {
  const sine = Math.sin((Math.min(Math.max(lat, -85), 85) * Math.PI) / 180);
  return { x: lon / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

/** The same place, shifted by whole turns around the world so that it is nearest to another place. */
export function beside(point, other) {
  const turns = other ? Math.round(point.x - other.x) : 0;
  return turns ? { ...point, x: point.x - turns } : point;
}

/** A track without jumps at the date line: each point is shifted to be nearest to the one before. */
export function connected(way) {
  let last = null;
  return way.map((point) => (last = beside(point, last)));
}

/** Places from all around the world, shifted so that the widest gap between their longitudes is outside the map. */
export function gathered(points) {
  const all = points.map(({ x }) => x - Math.floor(x)).sort((one, other) => one - other);
  let edge = 0;
  let widest = all[0] + 1 - all.at(-1);
  for (let index = 1; index < all.length; index++) {
    if (all[index] - all[index - 1] <= widest) continue;
    widest = all[index] - all[index - 1];
    edge = all[index];
  }
  return points.map((point) => ({ ...point, x: point.x - Math.floor(point.x - edge) }));
}

export const metreAt = (lat) => 1 / (40_075_017 * Math.cos((lat * Math.PI) / 180));

/** The greatest value up to `longest` that is 1, 2 or 5 times a power of ten. */
function roundLength(longest) {
  const power = 10 ** Math.floor(Math.log10(longest));
  return [5, 2, 1].map((digit) => digit * power).find((value) => value <= longest) ?? power;
}

/** The smallest box around all places of some lists; `null` if there are no places. */
export function bounds(ways) {
  const include = (box, { x, y }) => ({
    left: Math.min(box.left, x), right: Math.max(box.right, x), top: Math.min(box.top, y), bottom: Math.max(box.bottom, y),
  });
  const first = ways.find((way) => way.length)?.[0];
  if (!first) return null;
  return ways.reduce(
    (box, way) => way.reduce(include, box), { left: first.x, right: first.x, top: first.y, bottom: first.y });
}

/** The width of the column of buttons at the map's right edge, in pixels (`.tools` in wall.css). */
const TOOLS = 56;

/**
 * The view of some places, with a margin.
 *
 * @param ways lists of places in the projection
 * @param metre the length of a metre in the projection there
 */
export function frame(ways, width, height, metre) {
  const box = bounds(ways) ?? { left: 0.5, right: 0.5, top: 0.5, bottom: 0.5 };
  const span = (low, high) => Math.max(high - low, 80 * metre);
  // On a narrow screen the buttons would cover places at the right edge.
  const inner = Math.max(width / 4, Math.min(0.78 * width, width - 2 * TOOLS));
  const zoom = Math.min(inner / span(box.left, box.right), (0.78 * height) / span(box.top, box.bottom));
  return viewAt({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 }, zoom, width, height, metre);
}

/**
 * The view around a place.
 *
 * @param zoom the width of the whole world in pixels
 * @param metre the length of a metre in the projection there
 * @param turn the direction that is up, in radians clockwise from north
 */
export function viewAt(centre, zoom, width, height, metre, turn = 0) {
  const left = centre.x - width / 2 / zoom;
  const top = centre.y - height / 2 / zoom;
  return {
    centre, zoom, turn, width, height, metre, left, top, right: left + width / zoom, bottom: top + height / zoom,
    // The length of the scale and of the grid's squares, in metres.
    bar: roundLength(width / 4 / zoom / metre),
  };
}

/** Returns a function that converts a place of the projection to a point of the canvas. */
export function placed({ left, top, zoom, turn, width, height }) {
  if (!turn) return (point) => [(point.x - left) * zoom, (point.y - top) * zoom];
  const [cosine, sine] = [Math.cos(turn), Math.sin(turn)];
  return (point) => {
    const [x, y] = [(point.x - left) * zoom - width / 2, (point.y - top) * zoom - height / 2];
    return [x * cosine + y * sine + width / 2, y * cosine - x * sine + height / 2];
  };
}

/** The place of the projection at a point of the canvas. */
export function placeAt({ left, top, zoom, turn, width, height }, across, down) {
  const [cosine, sine] = [Math.cos(turn), Math.sin(turn)];
  const [x, y] = [across - width / 2, down - height / 2];
  return { x: left + (x * cosine - y * sine + width / 2) / zoom, y: top + (y * cosine + x * sine + height / 2) / zoom };
}

/** The latitude and longitude of a place of the projection. */
export function unprojected({ x, y }) {
  const lon = (x - Math.floor(x)) * 360 - 180;
  return { lat: (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI, lon };
}

/**
 * Draws a layer that turns with the map, such as tiles.
 *
 * @param draw draws the layer for a view that covers the corners of the turned canvas too
 */
export function turned(pen, view, draw) {
  if (!view.turn) return draw(view, view.width, view.height);
  const side = Math.ceil(Math.hypot(view.width, view.height));
  pen.save();
  pen.translate(view.width / 2, view.height / 2);
  pen.rotate(-view.turn);
  pen.translate(-side / 2, -side / 2);
  draw({ ...viewAt(view.centre, view.zoom, side, side, view.metre), bar: view.bar }, side, side);
  pen.restore();
}

/** The points that determine the shape of a track. All others are within a distance of the line (Douglas and Peucker, 1973). */
export function simplified(way, distance) {
  const isKept = new Uint8Array(way.length);
  const spans = [];
  let start = 0;
  for (let index = 1; index <= way.length; index++) {
    // Each part between gaps, and each part of one kind, is simplified separately.
    if (index < way.length && !way[index].isStart && way[index].isReckoned === way[index - 1].isReckoned) continue;
    spans.push([start, index - 1]);
    start = index;
  }
  while (spans.length) {
    const [first, last] = spans.pop();
    isKept[first] = isKept[last] = 1;
    const [a, b] = [way[first], way[last]];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const square = dx * dx + dy * dy;
    let [farthest, most] = [-1, distance * distance];
    for (let index = first + 1; index < last; index++) {
      const [x, y] = [way[index].x - a.x, way[index].y - a.y];
      const share = square ? Math.min(1, Math.max(0, (x * dx + y * dy) / square)) : 0;
      const off = (x - share * dx) ** 2 + (y - share * dy) ** 2;
      if (off > most) [farthest, most] = [index, off];
    }
    if (farthest > 0) spans.push([first, farthest], [farthest, last]);
  }
  return way.filter((_, index) => isKept[index]);
}

export function drawGrid(pen, view, width, height, colour) {
  const { left, top, right, bottom, zoom } = view;
  const step = view.bar * view.metre;
  pen.fillStyle = colour("inset");
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = colour("grid");
  pen.lineWidth = 1;
  pen.beginPath();
  for (let x = Math.ceil(left / step) * step; x < right; x += step) {
    pen.moveTo((x - left) * zoom, 0);
    pen.lineTo((x - left) * zoom, height);
  }
  for (let y = Math.ceil(top / step) * step; y < bottom; y += step) {
    pen.moveTo(0, (y - top) * zoom);
    pen.lineTo(width, (y - top) * zoom);
  }
  pen.stroke();
}

/** Draws the scale, the side of a grid square. Over tiles it has a background. */
export function drawScale(pen, view, height, letters, note, isBare, colour, up = "north up") {
  const length = view.bar * view.metre * view.zoom;
  const text = `${view.bar < 1000 ? `${view.bar} m` : `${view.bar / 1000} km`}, ${up}${note}`;
  if (!isBare) {
    pen.fillStyle = colour("card");
    pen.globalAlpha = 0.8;
    pen.fillRect(0, height - letters * 2.9, Math.max(length, pen.measureText(text).width) + 32, letters * 2.9);
    pen.globalAlpha = 1;
  }
  pen.fillStyle = colour("muted");
  pen.fillText(text, 16, height - 24);
  pen.fillRect(16, height - 16, length, 3);
}
