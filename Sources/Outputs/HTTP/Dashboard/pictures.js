// Pictures of a state: the horizon, the sky, and pieces of a timeline.

import { prepare } from "./map.js";
import { t } from "./words.js";

export const powers = ["off", "asleep", "awake", "settling", "acquiring", "tracking", "lingering", "failed"];
const winds = ["north", "east", "south", "west"];

/** The strongest signal of each satellite in a list of signals. A satellite counts as used if any of its signals is used. */
export function satellitesOf(sky) {
  const all = new Map();
  for (const signal of sky?.satellites ?? []) {
    const name = `${signal.gnssid} ${signal.svid ?? signal.PRN}`;
    const known = all.get(name);
    const strongest = known && (known.ss ?? 0) >= (signal.ss ?? 0) ? known : signal;
    all.set(name, { ...strongest, used: signal.used || known?.used });
  }
  return [...all.values()];
}

/** An artificial horizon in a compass rose. */
export function drawHorizon(canvas, attitude, colour) {
  const { pen, width, height, letters } = prepare(canvas);
  const rose = Math.min(width, height) / 2 - 2;
  const radius = rose - letters * 1.9;
  if (radius < 10) return;
  const radians = Math.PI / 180;
  pen.translate(width / 2, height / 2);
  pen.textAlign = "center";
  pen.textBaseline = "middle";

  const yaw = attitude?.yaw;
  for (let degrees = 0; degrees < 360; degrees += 10) {
    pen.save();
    pen.rotate((degrees - (yaw ?? 0)) * radians);
    const name = degrees % 90 ? undefined : t(winds[degrees / 90]);
    if (name && yaw !== undefined) {
      pen.fillStyle = colour(degrees === 0 ? "bad" : "text");
      pen.fillText(name, 0, -rose + letters * 0.75);
    } else if (degrees % 30 === 0 && yaw !== undefined) {
      pen.fillStyle = colour("muted");
      pen.fillText(String(degrees / 10).padStart(2, "0"), 0, -rose + letters * 0.75);
    } else {
      pen.fillStyle = colour("line");
      pen.fillRect(-1, -rose + letters * 0.5, 2, letters * 0.55);
    }
    pen.restore();
  }

  pen.save();
  pen.beginPath();
  pen.arc(0, 0, radius, 0, 2 * Math.PI);
  pen.clip();
  pen.fillStyle = colour("inset");
  pen.fillRect(-radius, -radius, 2 * radius, 2 * radius);
  if (attitude) {
    const perDegree = radius / 40;
    pen.rotate(-attitude.roll * radians);
    pen.save();
    pen.translate(0, attitude.pitch * perDegree);
    pen.fillStyle = colour("sky");
    pen.fillRect(-3 * radius, -9 * radius, 6 * radius, 9 * radius);
    pen.fillStyle = colour("ground");
    pen.fillRect(-3 * radius, 0, 6 * radius, 9 * radius);
    pen.strokeStyle = pen.fillStyle = colour("mark");
    pen.lineWidth = 1.5;
    for (let pitch = -60; pitch <= 60; pitch += 10) {
      const half = pitch === 0 ? 3 * radius : radius * (pitch % 20 ? 0.14 : 0.26);
      pen.beginPath();
      pen.moveTo(-half, -pitch * perDegree);
      pen.lineTo(half, -pitch * perDegree);
      pen.stroke();
      // The edge must not cut a number.
      const isWhole = Math.abs(attitude.pitch - pitch) * perDegree < 0.8 * radius;
      if (pitch && pitch % 20 === 0 && isWhole) pen.fillText(`${Math.abs(pitch)}`, half + letters, -pitch * perDegree);
    }
    pen.restore();
    // The roll scale turns with the horizon. Its pointer stays in place.
    for (const roll of [-60, -45, -30, -20, -10, 0, 10, 20, 30, 45, 60]) {
      pen.save();
      pen.rotate(roll * radians);
      pen.fillStyle = colour("mark");
      pen.fillRect(-1, -radius, 2, radius * (roll % 30 ? 0.06 : 0.1));
      pen.restore();
    }
  }
  pen.restore();
  pen.strokeStyle = colour("line");
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(0, 0, radius, 0, 2 * Math.PI);
  pen.stroke();
  if (!attitude) {
    pen.fillStyle = colour("muted");
    return pen.fillText(t("tilt.none"), 0, 0);
  }
  pen.fillStyle = colour("mark");
  pen.beginPath();
  pen.moveTo(0, -radius * 0.88);
  pen.lineTo(radius * 0.045, -radius * 0.79);
  pen.lineTo(-radius * 0.045, -radius * 0.79);
  pen.closePath();
  pen.fill();
  // The symbol of the vehicle stays in place too.
  for (const [tone, width] of [["#000a", 6], [colour("mark"), 3]]) {
    pen.strokeStyle = tone;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(-radius * 0.5, 0);
    pen.lineTo(-radius * 0.16, 0);
    pen.lineTo(0, radius * 0.1);
    pen.lineTo(radius * 0.16, 0);
    pen.lineTo(radius * 0.5, 0);
    pen.stroke();
  }
}

// GPS, SBAS, Galileo, BeiDou, IMES, QZSS, GLONASS and NavIC, by gpsd's `gnssid`.
const systems = ["G", "S", "E", "C", "I", "J", "R", "I"];

/** @param isStale whether the satellites are outdated */
export function drawSky(canvas, sky, isStale, colour) {
  const { pen, width, height, letters } = prepare(canvas);
  const radius = Math.min(width, height) / 2 - letters * 1.4;
  if (radius < 10) return;
  pen.translate(width / 2, height / 2);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = colour("inset");
  pen.beginPath();
  pen.arc(0, 0, radius, 0, 2 * Math.PI);
  pen.fill();
  pen.strokeStyle = colour("line");
  pen.lineWidth = 2;
  for (const elevation of [0, 30, 60]) {
    pen.beginPath();
    pen.arc(0, 0, (radius * (90 - elevation)) / 90, 0, 2 * Math.PI);
    pen.stroke();
  }
  pen.beginPath();
  for (const [x, y] of [[1, 0], [0, 1]]) {
    pen.moveTo(-x * radius, -y * radius);
    pen.lineTo(x * radius, y * radius);
  }
  pen.stroke();
  pen.fillStyle = colour("muted");
  for (const [name, x, y] of [["north", 0, -1], ["east", 1, 0], ["south", 0, 1], ["west", -1, 0]]) {
    pen.fillText(t(name), x * (radius + letters * 0.8), y * (radius + letters * 0.8));
  }
  const seen = satellitesOf(sky).filter(({ el, az }) => el !== undefined && az !== undefined);
  if (!seen.length) {
    const text = t(sky ? "sky.empty" : "sky.none");
    pen.fillStyle = colour("inset");
    const room = pen.measureText(text).width / 2 + 8;
    pen.fillRect(-room, -letters, 2 * room, 2 * letters);
    pen.fillStyle = colour("muted");
    return pen.fillText(text, 0, 0);
  }
  for (const satellite of seen) {
    const distance = (radius * (90 - satellite.el)) / 90;
    const angle = (satellite.az * Math.PI) / 180;
    const [x, y] = [distance * Math.sin(angle), -distance * Math.cos(angle)];
    // A stronger signal has a larger mark. The mark of a used satellite is filled, unless the satellites are outdated.
    const size = letters * (0.3 + Math.min(satellite.ss ?? 0, 50) / 100);
    const isUsed = satellite.used && !isStale;
    pen.fillStyle = colour(isUsed ? "tracking" : "inset");
    pen.strokeStyle = colour(isUsed ? "tracking" : "off");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, size, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colour(isStale ? "muted" : "text");
    const name = `${systems[satellite.gnssid] ?? ""}${satellite.svid ?? satellite.PRN}`;
    // The name is below the mark if there is no room above it.
    pen.fillText(name, x, y + (y < -radius + letters * 2 ? 1 : -1) * (size + letters * 0.7));
  }
}

/** Fills a picture with the pattern for unknown times. */
export function hatch(pen, width, height, colour) {
  pen.fillStyle = colour("inset");
  pen.fillRect(0, 0, width, height);
  pen.strokeStyle = colour("line");
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (let x = -height; x < width; x += 6) {
    pen.moveTo(x, height);
    pen.lineTo(x + height, 0);
  }
  pen.stroke();
}

/** Draws a period in which a device's power state did not change. */
export function drawPiece(pen, from, to, height, power, share, colour) {
  const width = Math.max(to - from, 1);
  pen.fillStyle = colour("inset");
  pen.fillRect(from, 0, width, height);
  pen.fillStyle = colour(powers.includes(power) ? power : "off");
  pen.fillRect(from, height * (1 - share), width, height * share);
}
