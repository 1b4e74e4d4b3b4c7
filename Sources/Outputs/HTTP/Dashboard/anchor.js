// The anchor watch of the page. It works with any hub. If the hub accepts fences at run time, the hub watches the anchor too.

import { metreAt, mercator, unprojected } from "./map.js";
import { keep, kept } from "./settings.js";

export const leastMetres = 5;
export const mostMetres = 300;
const usualMetres = 30;
// Positions must be outside the circle for this long before the alarm, because a single position may be wrong.
const patienceSeconds = 5;
// After this time without a position, it is unknown whether the anchor holds.
const blindSeconds = 30;
export const silenceSeconds = 300;
/** The name of the anchor among the hub's fences. */
export const fenceName = "anchor";

/** The distance in metres and the direction in degrees from one place to another. The places must be near each other. */
export function between(from, to) {
  const radians = Math.PI / 180;
  const north = (to.lat - from.lat) * 111_195;
  const turn = ((((to.lon - from.lon + 540) % 360) + 360) % 360) - 180;
  const east = turn * 111_195 * Math.cos(((from.lat + to.lat) / 2) * radians);
  return { metres: Math.hypot(north, east), degrees: (Math.atan2(east, north) / radians + 360) % 360 };
}

/** Whether a position is precise enough to judge a circle. */
export function isPrecise(position, radius) {
  return (position.sigmaHorizontal ?? 0) <= radius;
}

/**
 * The next status of an anchor.
 *
 * @param before the previous status: `{ state, since, outSince }`
 * @param position the position, with `lat`, `lon` and `sigmaHorizontal`; `null` without a recent one
 * @param positionAt the time of the last precise position, in seconds
 * @param now the present time of the same clock, in seconds
 */
export function judge(before, anchor, position, positionAt, now) {
  if (!position || now - positionAt > blindSeconds || !isPrecise(position, anchor.radius)) {
    // The state becomes "blind" only after `blindSeconds` without a precise position.
    if (before.state === "blind") return before;
    const isLate = now - Math.max(positionAt ?? -Infinity, anchor.watchedSince) > blindSeconds;
    return isLate ? { ...before, state: "blind", since: now, outSince: null } : before;
  }
  const { metres, degrees } = between(anchor, position);
  const place = { metres, degrees };
  if (metres <= anchor.radius) {
    const isBack = before.state !== "holding";
    return { state: "holding", since: isBack ? now : before.since, outSince: null, ...place };
  }
  const outSince = before.outSince ?? now;
  if (before.state === "dragging") return { ...before, ...place };
  if (now - outSince < patienceSeconds) return { ...before, state: "holding", outSince, ...place };
  return { state: "dragging", since: outSince, outSince, ...place };
}

const isNumber = (value, low, high) => Number.isFinite(value) && value >= low && value <= high;

export class Anchor {
  /**
   * @param onChange called with `true` or `false` when the hub has added or removed the fence; lists of fences that were
   *     requested before are outdated
   */
  constructor(onChange) {
    this.onChange = onChange;
    const known = kept("anchor");
    /** The place of the anchor in degrees, the radius in metres, and the time of the drop in milliseconds since 1970; `null` while the anchor is up. */
    this.place = known && isNumber(known.lat, -90, 90) && isNumber(known.lon, -180, 180) && isNumber(known.at, 0, Infinity)
      ? { lat: known.lat, lon: known.lon, radius: limited(known.radius), at: known.at } : null;
    this.radius = limited(this.place?.radius ?? kept("radius") ?? usualMetres);
    /** Whether the hub has the anchor as a fence: "watches", "refused" or "no". */
    this.hub = "no";
    this.refusal = "";
    this.status = { state: "holding", since: 0, outSince: null };
    this.watchedSince = null;
    this.silentUntil = -Infinity;
    this.telling = Promise.resolve();
    /** Whether the anchor is up, and the hub may still have its fence. */
    this.isLeaving = false;
    /** Whether the hub's last list of fences contained the anchor. */
    this.isSeen = false;
    /** Whether the last change did not reach the hub. */
    this.isUntold = false;
    if (this.place) this.tellHub();
  }

  drop({ lat, lon }) {
    this.place = { lat, lon, radius: this.radius, at: Date.now() };
    this.begin();
    keep("anchor", this.place);
    this.tellHub();
  }

  /** Watches an anchor that another page has dropped, and that the hub has as a fence. */
  adopt([lat, lon, radius]) {
    this.radius = limited(radius);
    this.place = { lat, lon, radius: this.radius, at: Date.now() };
    this.begin();
    keep("anchor", this.place);
    this.hub = "watches";
  }

  /** Takes the names of the hub's present fences. Another page may have removed the anchor's fence. */
  look(names) {
    const isThere = names.includes(fenceName);
    if (this.isSeen && !isThere && this.hub === "watches") this.hub = "no";
    this.isSeen = isThere;
    // The hub answers again.
    if (this.isUntold) this.tellHub();
  }

  begin() {
    this.status = { state: "holding", since: 0, outSince: null };
    this.watchedSince = null;
    this.silentUntil = -Infinity;
    this.isLeaving = false;
  }

  raise() {
    this.place = null;
    keep("anchor", null);
    this.begin();
    this.isLeaving = true;
    this.tellHub();
  }

  /** @param isFinal whether the slider or the circle was released */
  setRadius(metres, isFinal) {
    this.radius = limited(metres);
    if (this.place) this.place = { ...this.place, radius: this.radius };
    if (!isFinal) return;
    keep("radius", this.radius);
    if (!this.place) return;
    keep("anchor", this.place);
    this.tellHub();
  }

  silence(now) {
    this.silentUntil = now + silenceSeconds;
  }

  /** Checks a position. `now` and `positionAt` are seconds of one clock. */
  watch(position, positionAt, now) {
    if (!this.place) return;
    this.watchedSince ??= now;
    const before = this.status;
    this.status = judge(before, { ...this.place, watchedSince: this.watchedSince }, position, positionAt, now);
    // The next alarm is a new one, so it is not silenced.
    if (before.state !== this.status.state && this.status.state === "holding") this.silentUntil = -Infinity;
  }

  get isAlarmed() {
    return this.place !== null && this.status.state !== "holding";
  }

  /** Adds the fence at the hub, or removes it. A hub without fences at run time answers 404, which is not an error. */
  tellHub() {
    const { place } = this;
    this.isUntold = false;
    this.telling = this.telling.then(async () => {
      // A later change sends its own request.
      if (place !== this.place) return;
      if (!place) {
        const isThere = this.hub === "watches" || this.isSeen;
        const answer = isThere ? await fetch(`fences/${fenceName}`, { method: "DELETE" }).catch(() => null) : null;
        this.isUntold = isThere && !answer;
        if (this.isUntold) return;
        this.hub = "no";
        this.isLeaving = false;
        if (answer?.ok) this.onChange(false);
        return;
      }
      const body = JSON.stringify({ name: fenceName, latitude: place.lat, longitude: place.lon, radiusMetres: place.radius });
      const headers = { "Content-Type": "application/json" };
      // If the hub has the anchor's fence already, this request moves it.
      const answer = await fetch("fences", { method: "POST", headers, body }).catch(() => null);
      if (answer?.ok) {
        this.hub = "watches";
        this.onChange(true);
      } else if (!answer || [404, 405, 501].includes(answer.status)) {
        this.hub = "no";
        this.isUntold = !answer;
      } else {
        this.hub = "refused";
        const told = await answer.json().catch(() => null);
        this.refusal = told?.error?.message ?? String(answer.status);
      }
    });
  }

  // MARK: On the map

  /** The point of the circle's edge that can be dragged, in the map's projection: to the right of the centre on the screen. */
  handle(view, spot) {
    const centre = mercator(spot);
    const far = this.radius * metreAt(spot.lat);
    return { centre, point: { x: centre.x + far * Math.cos(view.turn), y: centre.y + far * Math.sin(view.turn) } };
  }

  /** The radius of the circle through a point of the map's projection. */
  radiusThrough(point, spot) {
    return between(spot, unprojected(point)).metres;
  }
}

const limited = (metres) => Math.round(Math.min(mostMetres, Math.max(leastMetres, Number(metres) || usualMetres)));

// MARK: Sound

let audio = null;

/** Enables sound. Call this for a press by the user, because browsers allow no sound before one. */
export function allowSound() {
  audio ??= new AudioContext();
  audio.resume().catch(() => {});
}

export const canSound = () => audio?.state === "running";

/** Plays two tones, `count` times, with half a second for each pair. */
export function sound(count = 1) {
  if (!canSound()) return;
  for (let index = 0; index < 2 * count; index++) {
    const start = audio.currentTime + index * 0.25;
    const tone = audio.createOscillator();
    const loudness = audio.createGain();
    tone.type = "square";
    tone.frequency.value = index % 2 ? 660 : 880;
    loudness.gain.setValueAtTime(0.25, start);
    loudness.gain.exponentialRampToValueAtTime(0.001, start + 0.23);
    tone.connect(loudness).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.24);
  }
}
