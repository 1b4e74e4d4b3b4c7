// The part of the world that the map shows: the whole track, the surroundings of the vehicle, or a part that the user chose.

import { beside, frame, placeAt, viewAt } from "./map.js";
import { keep, kept } from "./settings.js";

const leastZoom = 256;
const mostZoom = 256 * 2 ** 22;
// The largest width of the map when it begins to follow the vehicle.
const followMetres = 1500;
// How far a key moves the map, as a share of its width or height.
const keyShare = 0.2;

export class Camera {
  /**
   * @param chart the element that receives the events of pointers and keys
   * @param onChange called when the map must show another part
   * @param grab called first for a press at `(x, y)`; returns a function to call with each move, or `null` to move the map
   */
  constructor(chart, onChange, grab) {
    const known = kept("map") ?? {};
    // "all", "follow" or "free". A part that the user chose is not stored.
    this.mode = known.mode === "follow" ? "follow" : "all";
    this.isCourseUp = known.isCourseUp === true;
    this.zoom = Number.isFinite(known.zoom) ? Math.min(mostZoom, Math.max(leastZoom, known.zoom)) : null;
    this.centre = null;
    this.view = null;
    this.chart = chart;
    this.onChange = onChange;
    this.grab = grab;
    this.pointers = new Map();
    this.grabbed = null;
    this.listen();
  }

  /**
   * The view to show now.
   *
   * @param ways the points to show in the mode "all"
   * @param vehicle the position of the vehicle; `undefined` if it is unknown
   * @param course the direction of motion, in degrees
   */
  look(ways, vehicle, course, width, height, metre) {
    const turn = this.isCourseUp && vehicle && course !== undefined ? (course * Math.PI) / 180 : 0;
    if (this.mode === "follow" && vehicle) {
      this.zoom ??= width / (followMetres * metre);
      this.view = viewAt(vehicle, this.zoom, width, height, metre, turn);
    } else if (this.mode === "free" && this.centre) {
      this.view = viewAt(vehicle ? beside(this.centre, vehicle) : this.centre, this.zoom, width, height, metre, turn);
    } else {
      // The corners of a turned map show less, so the points must fit into a square.
      const all = turn ? [Math.min(width, height), Math.min(width, height)] : [width, height];
      const { centre, zoom } = frame(ways, ...all, metre);
      this.view = viewAt(centre, zoom, width, height, metre, turn);
    }
    return this.view;
  }

  showAll() {
    this.mode = "all";
    this.changed();
  }

  follow() {
    if (this.mode === "follow") return this.showAll();
    const { view } = this;
    if (view) this.zoom = Math.max(view.zoom, view.width / (followMetres * view.metre));
    this.mode = "follow";
    this.changed();
  }

  turn() {
    this.isCourseUp = !this.isCourseUp;
    if (this.isCourseUp && this.mode === "all") this.follow();
    else this.changed();
  }

  changed() {
    keep("map", { mode: this.mode === "follow" ? "follow" : "all", isCourseUp: this.isCourseUp, zoom: this.mode === "follow" ? this.zoom : null });
    this.onChange();
  }

  /** Zooms about a point of the screen, or about the vehicle while the map follows it. */
  zoomBy(factor, x = this.view?.width / 2, y = this.view?.height / 2) {
    const { view } = this;
    if (!view) return;
    const zoom = Math.min(mostZoom, Math.max(leastZoom, view.zoom * factor));
    if (this.mode !== "follow") {
      const place = placeAt(view, x, y);
      const next = placeAt(viewAt(view.centre, zoom, view.width, view.height, view.metre, view.turn), x, y);
      this.centre = { x: view.centre.x + place.x - next.x, y: Math.min(1, Math.max(0, view.centre.y + place.y - next.y)) };
      this.mode = "free";
    }
    this.zoom = zoom;
    this.changed();
  }

  /** Moves the map by a number of pixels. */
  move(across, down) {
    const { view } = this;
    if (!view) return;
    const { x, y } = placeAt(view, view.width / 2 - across, view.height / 2 - down);
    this.centre = { x, y: Math.min(1, Math.max(0, y)) };
    // The next move within the same frame starts from this view.
    this.view = viewAt(this.centre, view.zoom, view.width, view.height, view.metre, view.turn);
    this.zoom = view.zoom;
    this.mode = "free";
    this.changed();
  }

  listen() {
    const { chart, pointers } = this;
    const at = (event) => {
      const box = chart.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    chart.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 0 ? event.deltaY / 100 : event.deltaY / 3;
      this.zoomBy(2 ** (-Math.max(-2, Math.min(2, lines)) / 2), ...at(event));
    }, { passive: false });
    chart.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      // A pointer from a script cannot be captured.
      try {
        chart.setPointerCapture(event.pointerId);
      } catch {}
      if (pointers.size === 0) this.grabbed = this.grab(...at(event));
      pointers.set(event.pointerId, at(event));
    });
    chart.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = at(event);
      if (this.grabbed) return this.grabbed(...now, false);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, now);
      if (!other) return this.move(now[0] - before[0], now[1] - before[1]);
      // Two fingers zoom about the point between them, and move it.
      const far = (one, two) => Math.max(10, Math.hypot(one[0] - two[0], one[1] - two[1]));
      if (this.mode !== "follow") this.move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      this.zoomBy(far(now, other) / far(before, other), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      chart.addEventListener(name, (event) => {
        if (!pointers.delete(event.pointerId) || !this.grabbed) return;
        this.grabbed(...at(event), true);
        this.grabbed = null;
      });
    }
    chart.addEventListener("dblclick", (event) => this.zoomBy(2, ...at(event)));
    const keys = {
      ArrowLeft: () => this.move(this.view.width * keyShare, 0), ArrowRight: () => this.move(-this.view.width * keyShare, 0),
      ArrowUp: () => this.move(0, this.view.height * keyShare), ArrowDown: () => this.move(0, -this.view.height * keyShare),
      "+": () => this.zoomBy(1.5), "=": () => this.zoomBy(1.5), "-": () => this.zoomBy(1 / 1.5),
      0: () => this.showAll(), f: () => this.follow(), c: () => this.turn(),
    };
    chart.addEventListener("keydown", (event) => {
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (!act || !this.view) return;
      event.preventDefault();
      act();
    });
  }
}
