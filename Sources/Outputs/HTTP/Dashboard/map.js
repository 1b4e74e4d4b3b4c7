// What the pages' maps have in common: a canvas, a projection, a view of some places, a grid and its scale.

/** A canvas at the screen's own resolution; returns its context, its size and the size of letters, in CSS pixels. */
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

// Web Mercator, the whole world from 0 to 1: the projection of map tiles.
export function mercator({ lat, lon }) {
  const sine = Math.sin((Math.min(Math.max(lat, -85), 85) * Math.PI) / 180);
  return { x: lon / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

/** A place of the round world once more, on that side of the date line where it is nearest to another. */
export function beside(point, other) {
  const turns = other ? Math.round(point.x - other.x) : 0;
  return turns ? { ...point, x: point.x - turns } : point;
}

/** A way whose points lie beside each other, also over the date line. */
export function connected(way) {
  let last = null;
  return way.map((point) => (last = beside(point, last)));
}

/** Places from all around the world, with the widest part of it where there are none outside the map. */
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

/** The longest of 1, 2 or 5 times a power of ten. */
function roundLength(longest) {
  const power = 10 ** Math.floor(Math.log10(longest));
  return [5, 2, 1].map((digit) => digit * power).find((value) => value <= longest) ?? power;
}

/** The least box about all places of some lists; `null` where there is none. */
export function bounds(ways) {
  const include = (box, { x, y }) => ({
    left: Math.min(box.left, x), right: Math.max(box.right, x), top: Math.min(box.top, y), bottom: Math.max(box.bottom, y),
  });
  const first = ways.find((way) => way.length)?.[0];
  if (!first) return null;
  return ways.reduce(
    (box, way) => way.reduce(include, box), { left: first.x, right: first.x, top: first.y, bottom: first.y });
}

/**
 * The part of the world that shows some places, with room around them.
 *
 * @param ways lists of places in the projection
 * @param metre what a metre is there
 */
export function frame(ways, width, height, metre) {
  const box = bounds(ways) ?? { left: 0.5, right: 0.5, top: 0.5, bottom: 0.5 };
  const span = (low, high) => Math.max(high - low, 80 * metre);
  const zoom = 0.78 * Math.min(width / span(box.left, box.right), height / span(box.top, box.bottom));
  const view = {
    zoom,
    left: (box.left + box.right) / 2 - width / 2 / zoom,
    top: (box.top + box.bottom) / 2 - height / 2 / zoom,
  };
  view.right = view.left + width / zoom;
  view.bottom = view.top + height / zoom;
  // As long as the side of the grid's squares.
  view.bar = roundLength(width / 4 / zoom / metre);
  view.metre = metre;
  return view;
}

/** Where a place is on the canvas. */
export const placed = (view) => (point) => [(point.x - view.left) * view.zoom, (point.y - view.top) * view.zoom];

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

/** How long the side of a square is. Over tiles it has a ground of its own. */
export function drawScale(pen, view, height, letters, note, isBare, colour) {
  const length = view.bar * view.metre * view.zoom;
  const text = `${view.bar < 1000 ? `${view.bar} m` : `${view.bar / 1000} km`}, north up${note}`;
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
