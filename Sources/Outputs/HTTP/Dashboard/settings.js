// The user's settings, which the browser stores, and the text of values in the chosen units.

import { t } from "./words.js";

export const choices = {
  speed: ["m/s", "km/h", "kn", "mph"],
  place: ["degrees", "minutes"],
  time: ["utc", "local"],
  pressure: ["hPa", "inHg"],
  theme: ["auto", "light", "dark", "night"],
  language: ["auto", "en", "de"],
  sound: ["off", "on"],
};

/** The value that the browser has stored under a name; `null` if there is none, or if it is unreadable. */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(`sensorhub.${name}`));
  } catch {
    return null;
  }
}

/** Stores a value; `null` removes it. If the browser refuses, the page works without the value. */
export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(`sensorhub.${name}`);
    else localStorage.setItem(`sensorhub.${name}`, JSON.stringify(value));
  } catch {}
}

const stored = kept("settings") ?? {};
export const settings = Object.fromEntries(
  Object.entries(choices).map(([name, values]) => [name, values.includes(stored[name]) ? stored[name] : values[0]]));

export function choose(name, value) {
  settings[name] = value;
  keep("settings", settings);
}

// MARK: Units

const perMetrePerSecond = { "m/s": 1, "km/h": 3.6, kn: 3600 / 1852, mph: 3600 / 1609.344 };
const perPascal = { hPa: 0.01, inHg: 1 / 3386.389 };

/** A speed in the chosen unit. */
export const speedIn = (metresPerSecond) => metresPerSecond * perMetrePerSecond[settings.speed];
export const pressureIn = (pascals) => pascals * perPascal[settings.pressure];
export const pressureDecimals = () => (settings.pressure === "hPa" ? 1 : 2);

export const fixed = (value, decimals, unit = "") => (value === undefined ? "–" : `${value.toFixed(decimals)}${unit}`);
export const signed = (value) => (value === undefined ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}°`);
export const bearing = (value) => (value === undefined ? "–" : `${String(Math.round(value) % 360).padStart(3, "0")}°`);
export const point = (value) => (value === undefined ? "" : t(`point.${Math.round(value / 45) % 8}`));

/** `52.516275° N`, or `52° 30.976′ N`. */
export function coordinate(value, names) {
  if (value === undefined) return "–";
  const name = t(names[value < 0 ? 1 : 0]);
  if (settings.place === "degrees") return `${Math.abs(value).toFixed(6)}° ${name}`;
  // Round first, because 59.9999′ becomes the next degree.
  const thousandths = Math.round(Math.abs(value) * 60_000);
  const minutes = ((thousandths % 60_000) / 1000).toFixed(3).padStart(6, "0");
  return `${String(Math.floor(thousandths / 60_000)).padStart(names[0] === "north" ? 2 : 3, "0")}° ${minutes}′ ${name}`;
}

/** The time zone of the page: `UTC`, or the name of the browser's zone. */
export function zone() {
  if (settings.time === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(new Date());
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? t("local");
}

/** A time such as `13:45:00`, in the chosen zone. */
export function clock(milliseconds) {
  if (Number.isNaN(milliseconds)) return "––:––:––";
  const time = new Date(milliseconds);
  return settings.time === "utc" ? time.toISOString().slice(11, 19) : time.toLocaleTimeString("en-GB");
}

export const utcClock = (milliseconds) =>
  Number.isNaN(milliseconds) ? "––:––:––" : new Date(milliseconds).toISOString().slice(11, 19);

export function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds / 60) % 60)).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86400)} ${t("day.unit")} ${Math.floor((seconds / 3600) % 24)} h`;
}

// The format is that of `sensorhub devices`.
export function energy(milliwattHours) {
  if (milliwattHours < 1) return `${milliwattHours.toFixed(3)} mWh`;
  return milliwattHours < 1000 ? `${milliwattHours.toPrecision(3)} mWh` : `${(milliwattHours / 1000).toFixed(1)} Wh`;
}
