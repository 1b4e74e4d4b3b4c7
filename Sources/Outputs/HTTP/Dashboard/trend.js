// Small charts of the last hour: the values that the page has received, and before these the values that the hub has recorded.

import { prepare } from "./map.js";
import { bearing, clock, fixed, pressureDecimals, pressureIn, settings, speedIn } from "./settings.js";
import { t } from "./words.js";

export const spanSeconds = 3600;
const stepSeconds = 5;
// There is no line between samples with a longer interval, because the values in between are unknown.
const gapSeconds = 90;

// The charts. Each covers its lowest and highest value, and at least `least` in its unit, so that noise looks flat.
const series = [
  { name: "speed", least: () => speedIn(1), from: 0, value: ({ speed }) => speed, scaled: speedIn, text: (value) => fixed(value, 1, ` ${settings.speed}`) },
  { name: "heading", isRound: true, value: ({ heading }) => heading, scaled: (value) => value, text: bearing },
  { name: "pressure", least: () => pressureIn(200), value: ({ pressure }) => pressure, scaled: pressureIn, text: (value) => fixed(value, pressureDecimals(), ` ${settings.pressure}`) },
  { name: "voltage", least: () => 0.2, value: ({ volts }) => volts, scaled: (value) => value, text: (value) => fixed(value, 2, " V") },
  { name: "satellites", least: () => 4, from: 0, value: ({ satellites }) => satellites, scaled: (value) => value, text: (value) => fixed(value, 0) },
];

/** The sample for a state. Parts that are older than a step are left out. */
export function sampleOf(state, at) {
  const fresh = (part) => (part && part.age < stepSeconds ? part : undefined);
  const heading = fresh(state.attitude)?.yaw;
  const moving = fresh(state.velocity);
  return {
    at, speed: moving?.speed, heading: heading ?? moving?.track, pressure: fresh(state.air)?.pressure,
    volts: fresh(state.supply)?.volts, satellites: fresh(state.fix)?.satellites,
  };
}

export class Trends {
  constructor(list) {
    this.list = list;
    /** The samples, oldest first. */
    this.samples = [];
    this.rows = new Map();
  }

  /** Adds a sample. In each step of `stepSeconds` only the last one is kept. */
  add(sample) {
    const last = this.samples.at(-1);
    // The replay has gone back in time, so start again.
    if (last && sample.at < last.at - 1000 * stepSeconds) this.samples = [];
    if (last && Math.floor(last.at / 1000 / stepSeconds) === Math.floor(sample.at / 1000 / stepSeconds)) this.samples.pop();
    this.samples.push(sample);
    const first = this.samples.findIndex(({ at }) => at > sample.at - spanSeconds * 1000);
    if (first > 0) this.samples.splice(0, first);
  }

  /** Adds recorded samples from before the first sample of the page. */
  recall(samples) {
    const first = this.samples[0]?.at ?? Infinity;
    this.samples.unshift(...samples.filter(({ at }) => at < first));
  }

  get isEmpty() {
    return !this.samples.some((sample) => series.some(({ value }) => value(sample) !== undefined));
  }

  draw(now, colour) {
    for (const one of series) {
      const points = this.samples.map((sample) => ({ at: sample.at, value: one.value(sample) }));
      const isKnown = points.some(({ value }) => value !== undefined);
      if (!isKnown) {
        this.rows.get(one.name)?.remove();
        this.rows.delete(one.name);
        continue;
      }
      if (!this.rows.has(one.name)) this.rows.set(one.name, this.makeRow());
      this.drawSeries(one, points, now, colour);
    }
    // The rows are in the order of `series`, whichever came first.
    for (const { name } of series) {
      const row = this.rows.get(name);
      const index = [...this.rows.keys()].sort((one, other) => order(one) - order(other)).indexOf(name);
      if (row && this.list.children[index] !== row) this.list.insertBefore(row, this.list.children[index] ?? null);
    }
  }

  makeRow() {
    const row = document.createElement("li");
    const top = document.createElement("div");
    top.className = "top";
    const value = document.createElement("span");
    value.className = "value";
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    top.append(document.createElement("h3"), value);
    row.append(top, canvas);
    this.list.append(row);
    return row;
  }

  drawSeries({ name, least, from, isRound, scaled, text }, points, now, colour) {
    const row = this.rows.get(name);
    const canvas = row.lastChild;
    const { pen, width, height, letters } = prepare(canvas);
    if (width < 10) return;
    const known = points.filter(({ value }) => value !== undefined);
    const values = known.map(({ value }) => scaled(value));
    let [low, high] = isRound ? [0, 360] : [Math.min(...values), Math.max(...values)];
    const [lowest, highest] = [Math.min(...known.map(({ value }) => value)), Math.max(...known.map(({ value }) => value))];
    if (!isRound) {
      const missing = Math.max(0, least() - (high - low));
      [low, high] = [low - missing / 2, high + missing / 2];
      if (from !== undefined) [low, high] = [from, Math.max(high, from + least())];
    }
    const title = t(name);
    const last = points.at(-1)?.value;
    row.querySelector("h3").textContent = title;
    const said = (value) => (value === undefined ? "–" : text(scaled(value)));
    row.querySelector(".value").textContent = said(last);
    const label = t("hour.label", { name: title, low: said(lowest), high: said(highest), now: said(last) });
    if (canvas.getAttribute("aria-label") !== label) canvas.setAttribute("aria-label", label);
    pen.fillStyle = colour("inset");
    pen.fillRect(0, 0, width, height);
    const margin = 3;
    const across = (at) => width * (1 - (now - at) / spanSeconds / 1000);
    const down = (value) => height - margin - ((scaled(value) - low) / (high - low)) * (height - 2 * margin);
    // A mark for each quarter of an hour.
    pen.fillStyle = colour("grid");
    for (let quarter = 1; quarter < 4; quarter++) pen.fillRect((width * quarter) / 4, 0, 1, height);
    pen.strokeStyle = pen.fillStyle = colour("accent");
    pen.lineWidth = 2;
    pen.beginPath();
    let before = null;
    for (const { at, value } of points) {
      if (value === undefined) {
        before = null;
        continue;
      }
      const isBroken = !before || at - before.at > gapSeconds * 1000 || (isRound && Math.abs(value - before.value) > 180);
      if (isBroken) {
        pen.moveTo(across(at), down(value));
        pen.lineTo(across(at) + 0.5, down(value));
      } else {
        pen.lineTo(across(at), down(value));
      }
      before = { at, value };
    }
    pen.stroke();
    // The values at the top and at the bottom of the chart.
    pen.fillStyle = colour("muted");
    pen.textBaseline = "top";
    pen.fillText(isRound ? "360°" : text(high), 4, 2);
    pen.textBaseline = "bottom";
    pen.fillText(isRound ? "0°" : text(low), 4, height - 1);
    pen.textBaseline = "alphabetic";
  }
}

const order = (name) => series.findIndex((one) => one.name === name);

export const spanText = (now) => `${clock(now - spanSeconds * 1000).slice(0, 5)} – ${clock(now).slice(0, 5)}`;
