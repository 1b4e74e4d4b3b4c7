// The dashboard. An open event stream is a subscription and keeps the devices awake. The page therefore has a stream only
// while it is not paused, and is visible or watches an anchor. Requests for the devices and the fences wake no device.

import { allowSound, Anchor, canSound, fenceName, isPrecise, leastMetres, mostMetres, sound } from "./anchor.js";
import { Camera } from "./camera.js";
import {
  beside, bounds, connected, drawGrid, drawScale, mercator, metreAt, placeAt, placed, prepare, simplified, turned,
} from "./map.js";
import { drawHorizon, drawPiece, drawSky, hatch, powers, satellitesOf } from "./pictures.js";
import { TileFile } from "./pmtiles.js";
import {
  bearing, choices, choose, clock, coordinate, duration, energy, fixed, keep, kept, point, pressureDecimals, pressureIn, settings,
  signed, speedIn, utcClock, zone,
} from "./settings.js";
import { sampleOf, spanSeconds, spanText, Trends } from "./trend.js";
import { languages, speak, t, word } from "./words.js";

const $ = (id) => document.getElementById(id);
// Each state and each frame has a cost, which is most of the page's work. The horizon is drawn for each state.
const rateHz = 5;
const staleSeconds = 2;
// Satellites come with the receiver's epochs, which may be up to ten seconds apart, and move slowly.
const skyStaleSeconds = 12;
// After this time without a position, the track has a gap.
const gapSeconds = 10;
const timelineSeconds = 300;
// The page requests the devices each second. An answer of this age is outdated.
const lookLimitSeconds = 5;
// While the holders stay the same, holds are requested at this interval, because another page may prolong one.
const holdsMilliseconds = 5000;
// If two answers are further apart, changes in between may be missing.
const lookGapSeconds = 3;
const trackPoints = 8000;
// A fix may be this late normally, because it may wait for another one, and for an epoch of the receiver.
const lateSeconds = 6;
// A fence that would make the map wider by more than this factor is shown only in part.
const mostWider = 4;
const leastWideMetres = 250;
const holdSeconds = 60;
// The time that a screen reader needs for the last description.
const describeMilliseconds = 5000;
// Everything is drawn together, because each frame has a fixed cost, and numbers that change faster cannot be read. Only
// the horizon is drawn for each state.
const drawMilliseconds = 480;
const calmMilliseconds = 1000;
// Short interruptions of the connection and of the states are not reported.
const lostSeconds = 3;
const silentSeconds = 15;
// After this time without a fix, the position is outdated.
const oldSeconds = 10;
// The time between the notice that the page will reload, and the reload.
const reloadSeconds = 60;
// A receiver that waits this long for its position needs a second look.
const usualWaitSeconds = 6;
// If a replayed time and the hub's clock advance by amounts that differ by more than this, the replay has jumped.
const jumpSeconds = 0.5;
const replayEveryMilliseconds = 500;
// Recorded data: the time span of the map and of the timeline, and the interval of requests.
const pastSeconds = 6 * 3600;
// The recorded track has all visible bends: it is simplified by distance, not by time.
const pastEverySeconds = 1;
const pastMetres = 2;
const daySeconds = 86_400;
const recallMilliseconds = 60_000;
const trendEverySeconds = 20;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let stream = null;
let poll = null;
let paused = false;
let isRefused = false;
let state = null;
let stateAt = 0;
/** The time of the last fix by the hub's monotonic clock, in seconds. */
let fixAt = null;
let sky = null;
let skyAt = 0;
// The times of the hub's last message, by the page's clock and by the wall clock, and of the page's last attempt to listen,
// in milliseconds.
let heardAt = null;
let heardClock = null;
let listenedAt = performance.now();
/** The version of the hub if it differs from the version of this page, otherwise `null`. */
let otherVersion = null;
let reloadAt = null;
// The points of the track. `isStart` marks the first one after a gap.
let track = [];
// The smallest box around the track and the recorded track; `undefined` if it must be computed again.
let extent;
let followed = null;
const devices = new Map();
// The time of the last answer about the devices, in seconds of the page's clock, and whether a later request has failed.
let seenAt = null;
let isUnanswered = false;

// How often the hub has changed the anchor's fence for this page.
let fenceChanges = 0;
const anchor = new Anchor((isThere) => {
  fenceChanges += 1;
  if (!isThere) removeFence(fenceName);
  look();
});
const trends = new Trends($("trends"));

// MARK: Subscribing

function listen() {
  attend();
  if (stream || paused || !isWanted()) return;
  listenedAt = performance.now();
  stream = new EventSource(`events?rate=${rateHz}`);
  stream.onopen = () => {
    isRefused = false;
    if (heardAt !== null) compareVersions();
    hear();
  };
  stream.onmessage = (event) => {
    const hadPosition = state?.position !== undefined;
    state = JSON.parse(event.data);
    stateAt = elapsed();
    hear();
    isSought = false;
    const told = Date.parse(state.time ?? "");
    trends.add(sampleOf(state, isReplayed && !Number.isNaN(told) ? told : Date.now()));
    if (state.position && isLive(state.mode)) follow(state);
    watchAnchor();
    // The first position appears at once, before the pictures.
    const isFirst = !hadPosition && state.position !== undefined;
    if (isFirst) showState();
    redraw(isFirst);
  };
  stream.addEventListener("sky", (event) => {
    sky = JSON.parse(event.data);
    skyAt = elapsed();
    redraw();
  });
  stream.onerror = () => {
    // The browser tries again by itself, unless the hub refused the request.
    if (stream?.readyState !== EventSource.CLOSED) return redraw();
    isRefused = true;
    stopListening();
    setTimeout(listen, 5000);
  };
}

function stopListening() {
  stopAttending();
  stream?.close();
  stream = null;
  // The next position begins a new part of the track.
  followed = null;
  redraw();
}

/** Whether the page is visible or watches an anchor. */
const isWanted = () => !document.hidden || anchor.place !== null;

function hear() {
  heardAt = performance.now();
  heardClock = Date.now();
}

/** Checks the version of the hub after a reconnection. Another version has another page. */
async function compareVersions() {
  try {
    const page = new DOMParser().parseFromString(await (await read("./")).text(), "text/html");
    const { version } = page.body.dataset;
    otherVersion = version === document.body.dataset.version ? null : version;
    reloadAt = otherVersion === null ? null : performance.now() + reloadSeconds * 1000;
  } catch {
    // The next connection checks again.
  }
}

const isLive = (mode) => mode !== "none" && mode !== "asleep";

function observe() {
  if (poll || document.hidden) return;
  poll = setInterval(look, 1000);
  look();
}

// The last list of holds, the holders for which the page requested it, and the time of the request in milliseconds.
let holds = [];
let heldFor = "";
let holdsAt = -Infinity;

/** All holds. While the devices' holders stay the same, the page requests the holds less often, and counts them down. */
async function holdsOf(list) {
  // A hold is a holder, so without holders there is no hold.
  const holders = list.flatMap(({ holderIds }) => holderIds).join();
  const now = performance.now();
  if (holders && (holders !== heldFor || now - holdsAt > holdsMilliseconds)) {
    ({ holds } = await (await read("holds")).json());
    holdsAt = now;
  }
  heldFor = holders;
  const age = (now - holdsAt) / 1000;
  return holders ? holds.map((hold) => ({ ...hold, seconds: Math.max(0, hold.seconds - age) })) : [];
}

async function look() {
  const changes = fenceChanges;
  try {
    const [{ devices: list, conditions }, { fences: areas }] = await Promise.all(
      ["devices", "fences"].map(async (address) => (await read(address)).json()));
    showDevices(list, await holdsOf(list));
    // An answer to a request from before the last change may lack the anchor, or still have it.
    if (changes === fenceChanges) takeFences(areas);
    hubConditions = conditions ?? [];
    isUnanswered = false;
    // If no device measures, the stream is silent, and this answer is the only sign of the hub.
    hear();
  } catch {
    // The next request shows whether the hub is back.
    isUnanswered = true;
  }
  redraw();
}

function present() {
  if (document.hidden) {
    clearInterval(poll);
    poll = null;
    if (!isWanted()) stopListening();
  } else {
    listenedAt = performance.now();
    keepScreenOn();
    observe();
    listen();
    recall();
  }
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").textContent = t(paused ? "resume" : "pause");
  if (paused) stopListening();
  else listen();
});
document.addEventListener("visibilitychange", present);
addEventListener("pagehide", stopListening);
addEventListener("pageshow", present);
addEventListener("resize", () => redrawAll());
const darkness = matchMedia("(prefers-color-scheme: dark)");
darkness.addEventListener("change", () => redrawAll());

// MARK: Settings

for (const bar of document.querySelectorAll("meta[name=theme-color]")) bar.dataset.usual = bar.content;

/** Applies the chosen theme and language to the page. */
function applySettings() {
  const root = document.documentElement;
  if (settings.theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = settings.theme;
  for (const bar of document.querySelectorAll("meta[name=theme-color]")) bar.content = settings.theme === "night" ? "#000000" : bar.dataset.usual;
  speak(settings.language);
  $("pause").textContent = t(paused ? "resume" : "pause");
  for (const device of devices.values()) nameButtons(device);
  for (const label of $("choices").children) {
    label.firstChild.textContent = t(`set.${label.dataset.name}`);
    for (const option of label.lastChild.options) option.textContent = choiceText(label.dataset.name, option.value);
  }
  describedAt = -Infinity;
  if (replay) showReplay(replay);
  set("history-at", t("history.span", { zone: zone() }));
  redrawAll();
}

const choiceText = (name, value) => (name === "language" && languages[value]) || (name === "speed" || name === "pressure" ? value : t(`choice.${value}`));

for (const [name, values] of Object.entries(choices)) {
  const label = document.createElement("label");
  label.dataset.name = name;
  const select = document.createElement("select");
  select.id = `set-${name}`;
  for (const value of values) select.add(new Option(value, value, false, settings[name] === value));
  select.addEventListener("change", () => {
    choose(name, select.value);
    if (name === "sound" && select.value === "on") tryOut();
    applySettings();
  });
  label.append(document.createElement("span"), select);
  $("choices").append(label);
}

/** Enables sound, and plays it once as a test. */
function tryOut() {
  allowSound();
  setTimeout(() => sound(), 100);
}

$("set").addEventListener("click", () => {
  $("set-sound").value = settings.sound;
  $("settings").showModal();
});

// MARK: Tabs

const tabs = [...document.querySelectorAll("[role=tab]")];
const tabNamed = (name) => $(`tab-${name}`);
let openTab = "now";

/** Whether a panel is visible. */
const isOpen = (name) => openTab === name;

function open(name, isFocused = false) {
  openTab = name;
  for (const tab of tabs) {
    const isThis = tab === tabNamed(name);
    tab.setAttribute("aria-selected", String(isThis));
    tab.tabIndex = isThis ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !isThis;
  }
  if (isFocused) tabNamed(name).focus();
  redrawAll();
}

for (const tab of tabs) {
  const name = tab.id.slice("tab-".length);
  tab.addEventListener("click", () => {
    open(name);
    keep("tab", name);
  });
  tab.addEventListener("keydown", ({ key }) => {
    const there = tabs.filter(({ hidden }) => !hidden);
    const index = there.indexOf(tab);
    const next = { ArrowRight: there[index + 1] ?? there[0], ArrowLeft: there.at(index - 1), Home: there[0], End: there.at(-1) }[key];
    if (!next) return;
    const to = next.id.slice("tab-".length);
    open(to, true);
    keep("tab", to);
  });
}

/** Shows the panels for which the board has devices or values, and hides the others. */
function showPanels() {
  const kinds = new Set([...devices.values()].map(({ kind }) => kind));
  // Until the devices are known, assume all kinds.
  const has = (kind) => kinds.size === 0 || kinds.has(kind);
  const isPlaced = has("receiver") || state?.position !== undefined || track.length + past.length + fences.size > 0;
  const there = {
    now: true, hour: true, devices: true, day: true, sky: has("receiver") || sky !== null,
    tilt: has("imu") || state?.attitude !== undefined, anchor: isPlaced,
  };
  for (const [name, isThere] of Object.entries(there)) tabNamed(name).hidden = !isThere;
  const wished = kept("tab");
  if (!there[openTab]) open("now");
  else if (there[wished] && wished !== openTab && openTab === "now" && kinds.size) open(wished);
  const map = isPlaced ? "" : "no";
  if ((document.body.dataset.map ?? "") !== map) {
    document.body.dataset.map = map;
    redrawAll();
  }
  for (const id of ["has-speed", "has-course"]) $(id).hidden = !(has("receiver") || state?.velocity);
  $("has-heading").hidden = !there.tilt;
  $("has-position").hidden = !(has("receiver") || state?.position);
  for (const part of document.querySelectorAll(".of-fix")) part.hidden = $("has-position").hidden;
  const air = state?.air;
  for (const part of document.querySelectorAll(".of-air")) part.hidden = !(air || kinds.has("barometer"));
  for (const part of document.querySelectorAll(".of-humidity")) part.hidden = air?.humidity === undefined;
  for (const part of document.querySelectorAll(".of-supply")) part.hidden = !(state?.supply || kinds.has("supplyMonitor"));
}

// MARK: Text

function set(id, text) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
}

// Setting the same value again would cost time too.
function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Whether the event stream is open. */
const isListening = () => stream?.readyState === EventSource.OPEN;

/** Shows the age of a value: the word for "live" while it is new and more values can come. Returns whether it is outdated. */
function setAge(id, seconds, limit, isComing = isListening()) {
  const isStale = seconds !== undefined && (seconds > limit || !isComing);
  set(id, seconds === undefined ? "–" : isStale ? t("old", { time: duration(seconds) }) : t(isReplayed ? "recorded" : "live"));
  setClass($(id), `age ${seconds === undefined || (isReplayed && !isStale) ? "" : isStale ? "stale" : "live"}`);
  return isStale;
}

/** The hub's condition that says why a receiver has no fix yet; `undefined` if there is none. It is not an alarm. */
function waiting() {
  if (isAwayNow()) return undefined;
  const told = [...devices.values()].filter(({ kind }) => kind === "receiver").flatMap(({ status }) => status.conditions ?? []);
  return told.find(({ severity }) => severity === "waiting");
}

/** Adds the hub's reason why a receiver has no fix yet. If the reason has a next step, the banner shows both instead. */
function searching(condition) {
  const { summary, nextStep } = waiting() ?? {};
  return summary && !nextStep ? { ...condition, note: `${condition.note} (${summary})` } : condition;
}

/** Whether the board has no receiver, and therefore never a position. */
const isPlaceless = () => devices.size > 0 && ![...devices.values()].some(({ kind }) => kind === "receiver");

/** Whether a device measures. */
const isMeasuring = () => [...devices.values()].some(({ status }) => status.power === "tracking");

/** The condition of the board: a word, its duration, a colour and a sentence. */
function condition(since) {
  const said = (name, look, note = `note.${name}`) => ({ word: t(`mode.${name}`), look, note: note && t(note) });
  if (paused) return said("paused", "");
  if (isRefused) return said("refused", "bad");
  if (!isListening()) return state ? said("reconnecting", "bad", "note.away") : said("connecting", "", "");
  if (replay?.over) return said("over", "");
  if (replay?.paused) return said("halted", "", isSought ? "note.sought" : "note.halted");
  const trouble = state ? undefined : alarms().find(({ severity }) => severity === "problem");
  if (trouble || (hasProblem && !isMeasuring())) return said("notWorking", "bad", "note.trouble");
  // While a device does not work, the word is still right, but its colour is a warning.
  const good = hasProblem ? "warn" : "good";
  if (!state) return searching(said("waking", ""));
  if (since > staleSeconds) return said("silent", "bad");
  switch (state.mode) {
    case "fused":
    case "gnss": return said(state.mode, good);
    // A board without a receiver can have no more than an attitude, so nothing is missing.
    case "attitude": return isPlaceless() ? said("attitude", good) : said("attitudeOnly", "warn");
    case "asleep": return said("asleep", "");
    case "none": return isPlaceless() ? said("sensors", good, "note.attitude") : searching(said("none", "warn", fixAt === null ? "note.search" : "note.lost"));
    case "deadReckoning": {
      const seconds = state.deadReckoningSeconds;
      return { ...said("deadReckoning", "warn"), time: seconds === undefined ? "" : t("for", { time: duration(seconds + since) }) };
    }
    default: return { word: state.mode, look: "", note: "" };
  }
}

/** Whether the satellites are recent. Without a stream they are not. */
const isSkyNew = () => isListening() && elapsed() - skyAt <= skyStaleSeconds * 1000;

/** The time of the present fix; without one, the age of the last fix that this page has received. */
function fixTime(fix, stateMilliseconds, since) {
  const isFix = (fix?.mode ?? 0) >= 2;
  if (isFix) fixAt = state.monotonic - fix.age;
  if (isFix) return Number.isNaN(stateMilliseconds) ? "–" : `${clock(stateMilliseconds - fix.age * 1000)} ${zone()}`;
  // The hub has restarted, or a replay has gone back, so the last fix does not count.
  if (fixAt !== null && state && state.monotonic < fixAt) fixAt = null;
  return fixAt === null || !state ? "–" : t("lastFix", { time: duration(state.monotonic - fixAt + since) });
}

let describedAt = -Infinity;

function showState() {
  const now = performance.now();
  const since = (elapsed() - stateAt) / 1000;
  const { position, velocity, attitude, air, supply, fix } = state ?? {};
  const { word: mode, time = "", look, note } = condition(since);
  // A screen reader reads the word when it changes. The duration is a separate element, which is not read.
  set("mode", mode);
  set("mode-time", time);
  set("note", note);
  setClass($("badge"), `badge ${look}`);
  const main = document.querySelector("main");
  main.classList.toggle("resting", !stream || look === "bad" || isSought || !isLive(state?.mode ?? "none"));
  main.classList.toggle("reckoning", state?.mode === "deadReckoning" && look === "warn");

  set("lat", coordinate(position?.lat, ["north", "south"]));
  set("lon", coordinate(position?.lon, ["east", "west"]));
  set("sigma", position?.sigmaHorizontal === undefined ? "–" : `±${position.sigmaHorizontal.toFixed(1)} m`);
  set("height", fixed(position?.altMSL ?? position?.altHAE, 1, " m"));
  set("speed", velocity ? speedIn(velocity.speed).toFixed(1) : "–");
  set("speed-unit", settings.speed);
  set("track", bearing(velocity?.track));
  set("track-point", point(velocity?.track));
  set("heading", bearing(attitude?.yaw));
  set("heading-point", point(attitude?.yaw));
  set("fix", fix ? word("fix", fix.mode) : "–");
  const doubts = [];
  if (fix?.jamming === "warning" || fix?.jamming === "critical") doubts.push(t("jamming", { level: fix.jamming }));
  if (fix?.spoofing === "indicated" || fix?.spoofing === "multiple") doubts.push(t("spoofing"));
  if (state?.refusal) doubts.push(t("refusal", { metres: state.refusal.metres.toFixed(0) }));
  $("trust").hidden = doubts.length === 0;
  set("trust-badge", doubts.join(", ") || "–");
  // The time of the state is shown, or the browser's clock while no states come.
  const stateMilliseconds = Date.parse(state?.time ?? "");
  const isTold = !Number.isNaN(stateMilliseconds);
  set("fix-time", fixTime(fix, isTold ? stateMilliseconds : NaN, since));
  const isNow = isTold && stream && since < staleSeconds && !isSought;
  set("utc", clock(isNow ? stateMilliseconds + (pace && since * 1000) : isReplayed ? Date.parse(replay?.time) : Date.now()));
  set("roll", signed(attitude?.roll));
  set("pitch", signed(attitude?.pitch));
  set("yaw", bearing(attitude?.yaw));
  set("pressure", air ? `${pressureIn(air.pressure).toFixed(pressureDecimals())} ${settings.pressure}` : "–");
  set("temperature", fixed(air?.temperature, 1, " °C"));
  set("humidity", fixed(air?.humidity, 0, " %"));
  set("volts", fixed(supply?.volts, 2, " V"));
  set("amperes", supply ? `${(supply.amperes * 1000).toFixed(1)} mA` : "–");
  set("watts", supply ? `${(supply.volts * supply.amperes).toFixed(2)} W` : "–");
  const satellites = satellitesOf(sky);
  const used = sky ? sky.uSat ?? satellites.filter((satellite) => satellite.used).length : fix?.satellites;
  const strongest = Math.max(...satellites.map((satellite) => satellite.ss ?? 0));
  set("used", used === undefined ? "–" : String(used));
  set("seen", sky ? String(satellites.length) : "–");
  set("strongest", strongest > 0 ? `${strongest.toFixed(0)} dB` : "–");
  const isPositionStale = setAge("position-age", position ? position.age + since : undefined, staleSeconds);
  // The position is new, but it is an estimate.
  if (position && !isPositionStale && state.mode === "deadReckoning") {
    set("position-age", t("reckoned"));
    setClass($("position-age"), "age stale");
  }
  setAge("attitude-age", attitude ? attitude.age + since : undefined, staleSeconds);
  const isSkyStale = setAge("sky-age", sky ? (elapsed() - skyAt) / 1000 : undefined, skyStaleSeconds);
  $("map-empty").hidden = track.length + past.length > 0;
  $("gpx").disabled = track.length === 0;

  if (now - describedAt < describeMilliseconds) return;
  describedAt = now;
  const sides = [...fences].map(([name, { status }]) => {
    const side = word("fence", status.state);
    return t("map.fence", { name, state: isAwayNow() ? t("map.was", { state: side }) : side });
  });
  const where = position ? t("map.label", { where: `${$("lat").textContent}, ${$("lon").textContent}` }) : t("map.labelNone");
  $("map").setAttribute("aria-label", `${where}${isPositionStale ? t("map.stale") : ""}${sides.join("")}`);
  const pose = { roll: $("roll").textContent, pitch: $("pitch").textContent, heading: $("yaw").textContent };
  $("horizon").setAttribute("aria-label", attitude ? t("tilt.label", pose) : t("tilt.labelNone"));
  $("sky").setAttribute(
    "aria-label",
    sky ? t("sky.label", { seen: satellites.length, used, stale: isSkyStale ? t("map.stale") : "" }) : t("sky.labelNone"));
}

// MARK: Devices

function makeDevice(status) {
  const element = document.createElement("li");
  element.className = "device";
  const canvas = made("canvas");
  canvas.setAttribute("role", "img");
  const hold = made("button", "hold");
  const release = made("button", "release");
  hold.type = release.type = "button";
  element.append(
    made("div", "top", made("h3"), made("span", "power")), made("div", "line", made("p", "what"), made("p", "cost")), canvas,
    made("p", "who"), made("div", "actions", hold, release));
  element.querySelector("h3").textContent = status.id;
  element.querySelector(".what").textContent = status.title;
  const device = { element, kind: status.kind, history: [], hold: null, status };
  const path = `devices/${encodeURIComponent(status.id)}`;
  const post = async (action) => {
    // If there is no answer, the badge shows that the hub is away.
    const answer = await fetch(`${path}/${action}`, { method: "POST" }).catch(() => null);
    holdsAt = -Infinity;
    look();
    return answer?.ok ? answer.json() : null;
  };
  hold.addEventListener("click", async () => {
    const mine = device.hold ? `&hold=${device.hold.id}` : "";
    const answer = await post(`hold?for=${holdSeconds}${mine}`);
    if (answer) device.hold = { id: answer.id, until: performance.now() + answer.seconds * 1000 };
    redraw();
  });
  release.addEventListener("click", async () => {
    const mine = device.hold;
    device.hold = null;
    if (mine) await post(`release?hold=${mine.id}`);
    redraw();
  });
  nameButtons(device);
  $("devices").append(element);
  return device;
}

function nameButtons({ element, status: { title } }) {
  const [hold, release] = element.querySelectorAll("button");
  hold.textContent = t("device.hold", { seconds: holdSeconds });
  hold.setAttribute("aria-label", t("device.holdLabel", { title, seconds: holdSeconds }));
  release.textContent = t("device.release");
  release.setAttribute("aria-label", t("device.releaseLabel", { title }));
}

/** Creates an element with a class and children. */
function made(name, className = "", ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function showDevices(list, holds) {
  const now = performance.now() / 1000;
  const clockNow = Date.now();
  for (const [id, device] of devices) {
    // The hub uses another board file now.
    if (list.some((status) => status.id === id)) continue;
    device.element.remove();
    devices.delete(id);
  }
  $("devices-empty").hidden = list.length > 0;
  set("devices-empty", t("devices.empty"));
  for (const status of list) {
    if (!devices.has(status.id)) devices.set(status.id, makeDevice(status));
    const device = devices.get(status.id);
    device.status = status;
    const { element, history } = device;
    // The hub reports the beginning of the present state, even if the page was hidden. Earlier changes may be missing.
    const since = now - status.forSeconds;
    const isMissed = history.length > 0 && since - seenAt > lookGapSeconds;
    if (isMissed) history.push({ power: "unknown", at: seenAt });
    if (isMissed || history.at(-1)?.power !== status.power) history.push({ power: status.power, at: since });
    while (history.length > 1 && history[1].at < now - timelineSeconds) history.shift();
    if (!isRecorded) noteLife(status, isMissed, clockNow);
    // If the power is measured, show it instead of the number of wakes.
    const cost = status.measuredMilliwattHours > 0
      ? `${status.milliwatts.toFixed(0)} mW`
      : t(status.wakes === 1 ? "device.wake" : "device.wakes", { count: status.wakes });
    device.cost = `${cost} · ${energy(status.energyMilliwattHours)}`;
    const names = status.holders.map((holder, index) => {
      // Several clients may have the same name, so only the identity tells which of them has a hold.
      const isOf = (hold) => hold.device === status.id && hold.holderId === status.holderIds[index];
      const ends = holds.filter(isOf).map((hold) => hold.seconds);
      return ends.length ? t("device.left", { holder, time: duration(Math.max(...ends)) }) : holder;
    });
    const more = names.length > 6 ? t("device.more", { count: names.length - 6 }) : "";
    device.who = names.length
      ? t("device.awake", { holders: `${names.slice(0, 6).join(", ")}${more}` }) : t("device.idle", { reason: status.reason });
  }
  seenAt = now;
}

/** Whether the hub's last answer about devices and fences is outdated. */
const isAwayNow = () => isUnanswered || seenAt !== null && performance.now() / 1000 - seenAt > lookLimitSeconds;

/** Shows the devices. If the last answer is outdated, it is marked as such, and the buttons are disabled. */
function showPower() {
  const now = performance.now() / 1000;
  const isAway = isAwayNow();
  document.querySelector(".devices").classList.toggle("away", isAway);
  let isHatched = false;
  for (const { element, history, who, cost, status: { power, forSeconds, energyMilliwattHours, conditions } } of devices.values()) {
    // For a device that fails repeatedly, the duration counts from the first failure.
    const since = conditions?.find(({ kind }) => kind === power)?.forSeconds ?? forSeconds;
    const show = (name, text) => {
      const part = element.querySelector(name);
      if (part.textContent !== text) part.textContent = part.title = text;
    };
    const said = word("power", power);
    show(".power", isAway ? t("device.was", { power: said }) : `${said} · ${duration(since)}`);
    show(".who", isAway ? t("device.unknown") : who);
    show(".cost", isAway ? energy(energyMilliwattHours) : cost);
    const look = isAway ? "power" : `power ${power}`;
    setClass(element.querySelector(".power"), look);
    const hold = element.querySelector(".hold");
    if (hold.disabled !== isAway) hold.disabled = isAway;
    const isPartial = now - history[0].at < timelineSeconds || history.some(({ power }) => power === "unknown");
    isHatched ||= isPartial;
    const words = t("device.label", {
      unknown: isPartial ? t("device.partly") : "", tense: t(isAway ? "device.last" : "device.now"), power: said,
    });
    setAttribute(element.querySelector("canvas"), "aria-label", words);
  }
  if (isAway && seenAt !== null) {
    setAge("devices-age", now - seenAt, 0, false);
  } else {
    set("devices-age", t(isHatched ? "devices.hatched" : "devices.span"));
    setClass($("devices-age"), "age");
  }
  // These are links to files of the hub.
  $("taking").inert = isAway;
}

/** Shows how many entries of a list are below its visible part. */
function showMore(id) {
  const list = $(id);
  if (!isOpen(id === "fences" ? "anchor" : id) || !list.checkVisibility()) return;
  const edge = list.getBoundingClientRect().bottom;
  // An entry counts as visible if at most its margin is cut off.
  const count = [...list.children].filter((child) => child.getBoundingClientRect().bottom > edge + 16).length;
  const isLong = list.scrollHeight > list.clientHeight + 1;
  // The focus makes the list scrollable with the keys, even if all its buttons are disabled.
  if (isLong) list.tabIndex = 0;
  else list.removeAttribute("tabindex");
  const isCut = isLong && count > 0;
  $(`${id}-more`).hidden = !isCut;
  set(`${id}-more`, isCut ? t("more", { count }) : "");
}

for (const id of ["devices", "fences"]) $(id).addEventListener("scroll", () => showMore(id), { passive: true });

function showHolds() {
  const isAway = document.querySelector(".devices").classList.contains("away");
  for (const device of devices.values()) {
    const left = device.hold ? (device.hold.until - performance.now()) / 1000 : 0;
    if (left <= 0) device.hold = null;
    const release = device.element.querySelector(".release");
    const isUseless = left <= 0 || isAway;
    if (release.disabled !== isUseless) release.disabled = isUseless;
  }
}

// MARK: Alarms

const baseTitle = document.title;
/** The problems of the hub's board file. */
let hubConditions = [];
/** The severity of a fence's status; `null` if it needs no attention. */
const fenceSeverity = ({ state, event }) =>
  state === "outside" && event === "leave" ? "warning" : state === "unknown" && event === "lost" ? "problem" : null;

/** Whether the hub has sent nothing for `lostSeconds`. */
function isLostNow() {
  const isLost = heardAt !== null && !isRefused && (paused ? isUnanswered : !isListening());
  return isLost && (performance.now() - Math.max(heardAt ?? 0, listenedAt)) / 1000 > lostSeconds;
}

/** The alarms that the page itself detects: the hub is lost or silent, the position is old, or the hub has another version. */
function ownAlarms() {
  const all = [];
  const now = performance.now();
  if (isLostNow()) {
    all.push({
      name: t("banner.hub"), severity: "problem", short: t("banner.lost"),
      time: t("banner.lostFor", { time: duration((now - heardAt) / 1000) }),
      summary: t("banner.lostSummary", { when: `${clock(heardClock)} ${zone()}` }), nextStep: t("banner.lostNext"),
    });
  }
  const isPlaying = isListening() && !replay?.paused && !replay?.over;
  const since = (elapsed() - stateAt) / 1000;
  if (isPlaying && state && since > silentSeconds) {
    all.push({
      name: t("banner.hub"), severity: "problem", short: t("banner.silent"), time: t("banner.silentFor", { time: duration(since) }),
      summary: t("banner.silentSummary"),
    });
  }
  if (otherVersion !== null) {
    const left = reloadAt === null ? null : Math.max(0, (reloadAt - now) / 1000);
    all.push({
      name: t("banner.hub"), severity: "warning", short: t("banner.version"), time: t("banner.versionNow", { version: otherVersion }),
      summary: t("banner.versionSummary", { version: document.body.dataset.version }),
      nextStep: left === null ? t("reloadsNot") : t("reloads", { time: duration(Math.ceil(left)) }),
      act: { text: t("reload"), run: () => location.reload() },
    });
  }
  const isLeft = isPlaying && state && fixAt !== null && state.mode !== "asleep" && state.mode !== "deadReckoning";
  const age = isLeft ? state.monotonic - fixAt + since : 0;
  if (age > oldSeconds && since <= silentSeconds) {
    const reason = waiting();
    all.push({
      name: t("banner.position"), severity: "warning", short: t("banner.old"), time: t("banner.oldFor", { time: duration(age) }),
      summary: reason ? `${t("banner.oldSummary")} (${reason.summary})` : t("banner.oldSummary"),
      nextStep: reason?.nextStep ?? t("banner.oldNext"),
    });
  }
  return all;
}

/** The alarms of the page's anchor watch. */
function anchorAlarms() {
  if (!anchor.place) return [];
  const name = t("anchor.name");
  if (paused) {
    return [{ name, severity: "warning", short: `${name} ${t("anchor.paused")}`, time: t("anchor.paused"), summary: t("anchor.pausedSummary") }];
  }
  if (!anchor.isAlarmed) return [];
  const { state, since, metres } = anchor.status;
  const time = duration(Math.max(0, performance.now() / 1000 - since));
  const left = anchor.silentUntil - performance.now() / 1000;
  const act = left > 0 ? undefined : { text: t("anchor.silence"), run: () => silence() };
  if (state === "blind") {
    return [{
      name, severity: "problem", short: t("anchor.isBlind"), time: t("anchor.blindFor", { time }), summary: t("anchor.blindSummary"),
      nextStep: t("anchor.blindNext"), act,
    }];
  }
  const far = { metres: metres.toFixed(0), beyond: Math.max(0, metres - anchor.place.radius).toFixed(0) };
  return [{
    name, severity: "problem", short: t("anchor.drags"), time: t("anchor.dragFor", { time }), summary: t("anchor.dragSummary", far),
    nextStep: t("anchor.dragNext"), act,
  }];
}

/** The hub's conditions of its board file and its devices, as entries of the banner. */
function toldConditions() {
  const told = [[t("boardFile"), hubConditions], ...[...devices.values()].map(({ status }) => [status.id, status.conditions ?? []])];
  return told.flatMap(([name, conditions]) => conditions.map(({ kind, severity, summary, nextStep, forSeconds }) => {
    const what = word("kind", kind);
    const time = `${what} ${t("for", { time: duration(forSeconds) })}`;
    return { name, severity, short: `${name} ${what}`, time, summary, nextStep, forSeconds };
  }));
}

/**
 * The hub's conditions of receivers that have had no fix for longer than usual, with the next step. They are entries of the
 * banner, but not alarms. In a tunnel there are none, because the word for dead reckoning says enough.
 */
function waits() {
  if (paused || isAwayNow() || isLostNow() || state?.mode === "deadReckoning") return [];
  return toldConditions().filter(({ severity, nextStep, forSeconds }) => severity === "waiting" && nextStep && forSeconds >= usualWaitSeconds);
}

/** All alarms, the worst first. Each has a name, a severity, a time, a summary and the next step. */
function alarms() {
  const own = [...anchorAlarms(), ...ownAlarms()];
  if (isAwayNow() || isLostNow()) return own;
  const told = toldConditions().filter(({ severity }) => severity !== "waiting");
  // The failure of a device says why there is no data.
  const isExplained = told.some(({ severity }) => severity === "problem");
  const all = [...own.filter(({ short }) => !(isExplained && short === t("banner.silent"))), ...told];
  for (const [name, { status }] of fences) {
    const severity = fenceSeverity(status);
    // The page's own alarm of the anchor is newer, and a raised anchor needs none.
    if (!severity || (name === fenceName && status.added && (anchor.isAlarmed || anchor.isLeaving))) continue;
    const short = t(severity === "problem" ? "fence.blind" : "fence.left", { name });
    all.push({ name: t("fence", { name }), severity, short, time: sideOf(status), summary: edgeOf(status, false) });
  }
  return all.sort((one, other) => (one.severity === other.severity ? 0 : one.severity === "problem" ? -1 : 1));
}

// Whether a device does not work.
let hasProblem = false;
// The short texts of the alarms that have sounded.
let sounded = new Set();

function showBanner() {
  const all = alarms();
  hasProblem = !isAwayNow() && toldConditions().some(({ severity }) => severity === "problem");
  // The alarm about an old position says what the receiver is waiting for.
  const entries = [...all, ...(all.some(({ short }) => short === t("banner.old")) ? [] : waits())];
  const banner = $("banner-list");
  const wasHidden = $("banner").hidden;
  $("banner").hidden = entries.length === 0;
  while (banner.children.length > entries.length) banner.lastElementChild.remove();
  entries.forEach(({ name, severity, time, summary, nextStep, act }, index) => {
    if (!banner.children[index]) {
      const button = made("button", "act");
      button.type = "button";
      button.addEventListener("click", () => button.run?.());
      banner.append(made("li", "", made("span", "what"), made("span", "next"), button));
    }
    const element = banner.children[index];
    setClass(element, severity);
    const show = (part, text) => {
      if (element.querySelector(part).textContent !== text) element.querySelector(part).textContent = text;
    };
    show(".what", t("banner.line", { name, time, summary }));
    show(".next", nextStep ?? "");
    show(".act", act?.text ?? "");
    const button = element.querySelector(".act");
    button.hidden = !act;
    button.run = act?.run;
  });
  // Screen readers read this text, which does not contain the seconds.
  set("banner-said", all.map(({ short, nextStep, act }) => `${short}${nextStep && !act ? `: ${nextStep}` : ""}`).join(". "));
  const title = all.length ? `⚠ ${all[0].short} · ${baseTitle}` : baseTitle;
  if (document.title !== title) document.title = title;
  const news = all.map(({ short }) => short);
  if (settings.sound === "on" && news.some((short) => !sounded.has(short))) sound();
  sounded = new Set(news);
  const origins = [...devices.values()].map(({ status }) => status.origin);
  const origin = origins.includes("recorded") ? "recorded" : origins.includes("simulated") ? "simulated" : "";
  $("origin").hidden = !origin;
  set("origin", origin && t(`origin.${origin}`));
  // The elements below the banner have changed their size.
  if (wasHidden !== $("banner").hidden) redrawAll();
}

/** Makes a long banner scrollable with the keys, which needs the focus. */
function makeBannerScrollable() {
  const region = $("banner");
  if (!region.hidden && region.scrollHeight > region.clientHeight + 1) region.tabIndex = 0;
  else region.removeAttribute("tabindex");
}

// MARK: The anchor

$("anchor-radius").min = leastMetres;
$("anchor-radius").max = mostMetres;
for (const name of ["input", "change"]) {
  $("anchor-radius").addEventListener(name, () => {
    anchor.setRadius(Number($("anchor-radius").value), name === "change");
    redrawAll();
  });
}
$("anchor-drop").addEventListener("click", () => {
  if (anchor.place) {
    anchor.raise();
    letScreenSleep();
    if (!isWanted()) stopListening();
  } else if (anchorPosition()) {
    anchor.drop(state.position);
    keepScreenOn();
  }
  redrawAll();
});
$("anchor-silence").addEventListener("click", () => silence());
$("anchor-sound").addEventListener("click", () => {
  choose("sound", settings.sound === "on" ? "off" : "on");
  if (settings.sound === "on") tryOut();
  redrawAll();
});
// Browsers allow sound only after a press, so the first press enables it.
for (const name of ["pointerdown", "keydown"]) {
  addEventListener(name, () => {
    if (settings.sound === "on" && !canSound()) allowSound();
  }, { capture: true });
}

function silence() {
  anchor.silence(performance.now() / 1000);
  redrawAll();
}

/** The position for dropping or watching an anchor; `null` if it is not recent. */
function anchorPosition() {
  const { position, mode } = state ?? {};
  if (!position || !isListening() || !isLive(mode)) return null;
  return position.age + (elapsed() - stateAt) / 1000 <= oldSeconds ? position : null;
}

let anchorSeenAt = null;
let watchedAt = -Infinity;

/** Checks the anchor once a second, by a timer and by the states. Browsers slow the timers of a hidden page to one a minute. */
function watchAnchor() {
  const now = performance.now() / 1000;
  if (!anchor.place || paused || now - watchedAt < 0.9) return;
  watchedAt = now;
  const position = anchorPosition();
  if (position && isPrecise(position, anchor.place.radius)) anchorSeenAt = now - position.age;
  anchor.watch(position, anchorSeenAt, now);
  if (anchor.isAlarmed && settings.sound === "on" && now > anchor.silentUntil) sound(2);
  redraw();
  // The title of a hidden page is visible, so update it.
  if (document.hidden) showBanner();
}

let screenLock = null;

/** Keeps the screen on while an anchor is down. Browsers allow this only over an encrypted connection. */
async function keepScreenOn() {
  if (!anchor.place || document.hidden || screenLock?.released === false) return;
  screenLock = await navigator.wakeLock?.request("screen").catch(() => null) ?? null;
}

function letScreenSleep() {
  screenLock?.release().catch(() => {});
  screenLock = null;
}

function showAnchor() {
  const { place, status, hub } = anchor;
  const slider = $("anchor-radius");
  if (slider.value !== String(anchor.radius)) slider.value = anchor.radius;
  set("anchor-metres", `${anchor.radius} m`);
  set("anchor-drop", t(place ? "anchor.raise" : "anchor.drop"));
  $("anchor-drop").disabled = !place && !anchorPosition();
  set("anchor-since", place ? t("anchor.since", { when: `${clock(place.at).slice(0, 5)} ${zone()}` }) : "");
  const far = { metres: status.metres?.toFixed(0), bearing: bearing(status.degrees) };
  $("anchor-state").hidden = !place;
  set("anchor-state", !place ? "" : paused ? t("anchor.paused")
    : status.state === "blind" ? t("anchor.blind") : status.metres === undefined ? "–" : t(`anchor.${status.state}`, far));
  setClass($("anchor-state"), `side ${!place || paused ? "" : status.state === "holding" ? "good" : "bad"}`);
  const left = anchor.silentUntil - performance.now() / 1000;
  $("anchor-silence").hidden = !anchor.isAlarmed || left > 0;
  const isOn = settings.sound === "on";
  setAttribute($("anchor-sound"), "aria-pressed", String(isOn));
  const notes = !place ? [t(anchorPosition() ? "anchor.idle" : "anchor.noPosition")]
    : [hub === "watches" ? t("anchor.hub") : hub === "refused" ? t("anchor.refused", { reason: anchor.refusal }) : t("anchor.page")];
  if (anchor.isAlarmed && left > 0) notes.unshift(t("anchor.silenced", { time: duration(left) }));
  set("anchor-note", notes.join(" · "));
  $("anchor-blocked").hidden = !(isOn && place && !canSound());
}

/** Begins to drag the edge of the anchor's circle if its handle is near a point of the map, otherwise returns `null`. */
function grabAnchor(x, y) {
  const { view } = camera;
  const spot = anchorSpot();
  if (!view || !spot) return null;
  const [left, top] = placed(view)(beside(anchor.handle(view, spot).point, view.centre));
  if (Math.hypot(left - x, top - y) > 26) return null;
  return (across, down, isOver) => {
    anchor.setRadius(anchor.radiusThrough(placeAt(view, across, down), spot), isOver);
    redrawAll();
  };
}

/** The place of the anchor, or the place where it would be dropped now. */
const anchorSpot = () => anchor.place ?? (isOpen("anchor") ? anchorPosition() : null);

function drawAnchor(pen, view, place, letters, colour) {
  const spot = anchorSpot();
  if (!spot) return;
  const { centre, point: edge } = anchor.handle(view, spot);
  const [x, y] = place(beside(centre, view.centre));
  const [left, top] = place(beside(edge, view.centre));
  const tone = colour(!anchor.place ? "muted" : anchor.isAlarmed ? "bad" : "good");
  pen.strokeStyle = pen.fillStyle = tone;
  pen.lineWidth = 2.5;
  pen.setLineDash(anchor.place ? [] : [6, 6]);
  pen.beginPath();
  pen.arc(x, y, Math.hypot(left - x, top - y), 0, 2 * Math.PI);
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 0.1;
  pen.fill();
  pen.globalAlpha = 1;
  if (anchor.place) {
    // The symbol of an anchor: a ring, a shaft, a stock and two flukes.
    const size = letters * 0.9;
    pen.beginPath();
    pen.arc(x, y - size, size * 0.28, 0, 2 * Math.PI);
    pen.moveTo(x, y - size * 0.7);
    pen.lineTo(x, y + size);
    pen.moveTo(x - size * 0.5, y - size * 0.35);
    pen.lineTo(x + size * 0.5, y - size * 0.35);
    pen.moveTo(x - size * 0.85, y + size * 0.25);
    pen.quadraticCurveTo(x - size * 0.6, y + size, x, y + size);
    pen.quadraticCurveTo(x + size * 0.6, y + size, x + size * 0.85, y + size * 0.25);
    pen.stroke();
  }
  // The handle for dragging.
  pen.beginPath();
  pen.arc(left, top, 9, 0, 2 * Math.PI);
  pen.fillStyle = colour("card");
  pen.fill();
  pen.stroke();
  pen.fillStyle = tone;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText("↔", left, top);
  pen.textAlign = "start";
  pen.textBaseline = "alphabetic";
}

// MARK: Fences

// The fences by name: the last status of each, and its element in the list.
const fences = new Map();

function makeFence(name) {
  const element = document.createElement("li");
  element.className = "fence";
  const actions = made("div", "take");
  element.append(made("div", "top", made("h3"), made("span", "side")), made("p", "edge"), made("p", "next"), actions);
  element.querySelector("h3").textContent = name;
  // Fences that were added while the hub ran can be removed, if the user has the right.
  const watch = made("button", "watch");
  const remove = made("button", "remove");
  watch.type = remove.type = "button";
  actions.append(watch, remove);
  const fence = { element, refusal: "" };
  watch.addEventListener("click", () => {
    anchor.adopt(fence.status.circle);
    keepScreenOn();
    redrawAll();
  });
  remove.addEventListener("click", async () => {
    const answer = await fetch(`fences/${encodeURIComponent(name)}`, { method: "DELETE" }).catch(() => null);
    const told = answer?.ok ? null : await answer?.json().catch(() => null);
    fence.refusal = told?.error?.message ?? "";
    look();
  });
  $("fences").append(element);
  return fence;
}

function removeFence(name) {
  fences.get(name)?.element.remove();
  fences.delete(name);
}

function takeFences(list) {
  for (const name of fences.keys()) if (!Object.hasOwn(list, name)) removeFence(name);
  const news = [];
  for (const [name, status] of Object.entries(list)) {
    if (!fences.has(name)) fences.set(name, makeFence(name));
    const fence = fences.get(name);
    if (fence.status && fence.status.state !== status.state) news.push(t("fence.news", { name, state: word("fence", status.state) }));
    fence.status = status;
  }
  anchor.look(Object.keys(list));
  // Screen readers read this text, which contains the changes and not the durations.
  if (news.length) set("fences-said", news.join("; "));
  document.body.dataset.fences = fences.size ? "yes" : "";
}

/** The colour for a fence's status. Leaving a fence may be intended, so it is a warning. A fence without fixes is an error. */
function lookOf({ state, event }) {
  if (state === "inside") return "good";
  if (state === "outside") return event === "leave" ? "warn" : "muted";
  return event === "lost" ? "bad" : "muted";
}

function sideOf({ state, event, seconds }) {
  const key = { enter: "fence.entered", leave: "fence.leftAgo", lost: "fence.blindFor" }[event] ?? "for";
  return `${word("fence", state)} · ${t(key, { time: duration(seconds) })}`;
}

function edgeOf({ beyond, position }, isAway) {
  if (beyond === undefined) return t("fence.none");
  const far = Math.abs(beyond);
  const length = far < 1000 ? `${far.toFixed(1)} m` : `${(far / 1000).toFixed(1)} km`;
  const sigma = position.sigmaHorizontal.toFixed(position.sigmaHorizontal < 0.095 ? 2 : 1);
  const age = isAway ? "" : t("ago", { time: duration(position.age) });
  return t(beyond > 0 ? "fence.beyond" : "fence.within", { length, sigma, age });
}

function nextOf({ event, due, unknownIn }) {
  if (due > 1) return t(event ? "fence.next" : "fence.first", { time: duration(due) });
  if (due > -lateSeconds) return t("fence.nextNow");
  if (unknownIn === undefined) return t("fence.overdue", { time: duration(-due) });
  return t("fence.late", { time: duration(-due), left: duration(Math.max(0, unknownIn)) });
}

/** Shows the fences, as `showPower` shows the devices. */
function showFences() {
  const isAway = isAwayNow();
  document.querySelector(".fences").classList.toggle("away", isAway);
  for (const [name, { element, status, refusal }] of fences) {
    const show = (name, text) => {
      const part = element.querySelector(name);
      if (part.textContent !== text) part.textContent = part.title = text;
    };
    show(".side", isAway ? t("map.was", { state: word("fence", status.state) }) : sideOf(status));
    show(".edge", edgeOf(status, isAway));
    show(".next", isAway ? t("fence.away") : refusal ? t("fence.refused", { reason: refusal }) : nextOf(status));
    const [watch, remove] = element.querySelectorAll("button");
    const isWatched = (anchor.place !== null || anchor.isLeaving) && name === fenceName;
    watch.parentElement.hidden = !status.added || isAway || isWatched;
    watch.hidden = name !== fenceName || !status.circle;
    show(".watch", t("fence.watch"));
    show(".remove", t("fence.remove"));
    setAttribute(remove, "aria-label", t("fence.removeLabel", { name }));
    const isLate = !isAway && status.due <= -lateSeconds;
    element.querySelector(".next").classList.toggle("late", isLate);
    const look = isAway ? "side" : `side ${lookOf(status)}`;
    setClass(element.querySelector(".side"), look);
  }
  if (isAway && seenAt !== null) {
    setAge("fences-age", performance.now() / 1000 - seenAt, 0, false);
  } else {
    set("fences-age", "");
  }
}

const circleCorners = 96;

/** The corners of a fence's area in degrees. A circle becomes a polygon. */
function cornersOf({ circle, polygon }) {
  if (!circle) return polygon.map(([lat, lon]) => ({ lat, lon }));
  const [lat, lon, radius] = circle;
  const degrees = (radius / 6_371_009) * (180 / Math.PI);
  return Array.from({ length: circleCorners }, (_, index) => {
    const angle = (index / circleCorners) * 2 * Math.PI;
    const north = degrees * Math.cos(angle);
    const east = (degrees * Math.sin(angle)) / Math.cos(((lat + north / 2) * Math.PI) / 180);
    return { lat: lat + north, lon: lon + east };
  });
}

/**
 * The edges of all fences in the map's projection, shifted across the date line if necessary.
 *
 * @param last the place to which they are shifted
 */
function fenceEdges(last) {
  let centre = last;
  return [...fences].map(([name, { status }]) => {
    const way = cornersOf(status).map((corner) => {
      const point = { ...corner, ...mercator(corner) };
      centre ??= point;
      return beside(point, centre);
    });
    return { name, way, look: isAwayNow() ? "muted" : lookOf(status) };
  });
}

/** The fences that the map must show completely. A large or distant fence is shown only in part. */
function framedEdges(edges, ways, metre) {
  const box = bounds(ways);
  if (!box) return edges;
  const width = ({ left, right, top, bottom }) => Math.max(right - left, bottom - top, leastWideMetres * metre);
  const ends = [{ x: box.left, y: box.top }, { x: box.right, y: box.bottom }];
  return edges.filter(({ way }) => width(bounds([ends, way])) <= mostWider * width(box));
}

function drawFences(pen, place, edges, framed, width, height, letters, colour) {
  for (const edge of edges) {
    const { name, way, look } = edge;
    const points = way.map(place);
    pen.fillStyle = pen.strokeStyle = colour(look);
    pen.lineWidth = 2;
    pen.setLineDash([10, 6]);
    pen.beginPath();
    for (const point of points) pen.lineTo(...point);
    pen.closePath();
    pen.stroke();
    pen.setLineDash([]);
    // A fence that is not framed has no tint, because its edge may be outside the map.
    pen.globalAlpha = framed.includes(edge) ? 0.07 : 0;
    pen.fill();
    pen.globalAlpha = 1;
    // The name is at the highest visible corner.
    const room = pen.measureText(name).width / 2 + 6;
    const seen = points.filter(([x, y]) => x > room && x < width - room && y > letters * 2 && y < height - letters * 3);
    if (!seen.length) continue;
    const [x, y] = seen.reduce((highest, point) => (point[1] < highest[1] ? point : highest));
    pen.fillStyle = colour("card");
    pen.globalAlpha = 0.85;
    pen.fillRect(x - room, y - letters * 0.8, 2 * room, letters * 1.6);
    pen.globalAlpha = 1;
    pen.fillStyle = colour(look);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(name, x, y);
    pen.textAlign = "start";
    pen.textBaseline = "alphabetic";
  }
}

// MARK: The track as a file

$("gpx").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([gpx()], { type: "application/gpx+xml" }));
  link.download = `track-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.gpx`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
});

/** The track as GPX 1.1, a segment for each part between gaps. */
function gpx() {
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const lines = track.map((point, index) => {
    const start = index && point.isStart ? "</trkseg>\n<trkseg>\n" : "";
    const height = point.height === undefined ? "" : `<ele>${point.height.toFixed(1)}</ele>`;
    const time = point.time ? `<time>${point.time}</time>` : "";
    return `${start}<trkpt lat="${point.lat.toFixed(7)}" lon="${point.lon.toFixed(7)}">${height}${time}</trkpt>\n`;
  });
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n` +
    `<gpx version="1.1" creator="SensorHub" xmlns="http://www.topografix.com/GPX/1/1">\n` +
    `<trk><name>${escaped(document.querySelector("h1").textContent)}</name>\n<trkseg>\n${lines.join("")}</trkseg>\n</trk>\n</gpx>\n`
  );
}

// MARK: Recorded data

const isRecorded = document.body.dataset.records === "yes";
// The recorded track of the hours before this page was opened.
let past = [];
// Whether the recorded track was read.
let isPastKnown = false;
// The changes of each device's power, the oldest first.
const lives = new Map();
let isRecalling = false;
let recalledAt = -Infinity;
// The values for which the timeline was drawn last.
let drawnHistory = "";

// Opening the list updates it.
$("recordings").addEventListener("toggle", () => {
  if ($("recordings").open) recallSegments().catch(() => {});
});
$("recordings").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  $("recordings").open = false;
  $("segments-count").focus();
});

/** Reads recorded data, which wakes no device. */
async function recall() {
  if (!isRecorded || isRecalling || document.hidden || performance.now() - recalledAt < recallMilliseconds) return;
  isRecalling = true;
  try {
    await recallPower();
    await recallSegments();
    if (!isPastKnown) {
      await recallTrack();
      await recallTrends();
    }
    recalledAt = performance.now();
  } catch {
    // The badge shows that the hub is away. The next call tries again.
  }
  isRecalling = false;
  $("history-gpx").href = `history/track.gpx?from=${Math.floor(Date.now() / 1000) - daySeconds}`;
  redraw();
}

async function read(address) {
  const answer = await fetch(address, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer;
}

async function recallPower() {
  const known = Math.max(...[...lives.values()].map((changes) => changes.at(-1).at));
  const from = Math.max(known, Date.now() - daySeconds * 1000) / 1000;
  // The clocks of the board and of the browser may differ.
  let address = `history/power?from=${from.toFixed(3)}&to=${(Math.max(from, Date.now() / 1000) + 1).toFixed(3)}`;
  while (address) {
    const page = await (await read(address)).json();
    for (const { id, power, time } of page.changes) {
      const at = Date.parse(time);
      if (!lives.has(id)) lives.set(id, []);
      const changes = lives.get(id);
      // Each answer begins with the state before its time span.
      if (changes.length && (at <= changes.at(-1).at || power === changes.at(-1).power)) continue;
      changes.push({ power, at });
    }
    address = page.next?.slice(1);
  }
  for (const changes of lives.values()) {
    while (changes.length > 1 && changes[1].at < Date.now() - daySeconds * 1000) changes.shift();
  }
  drawnHistory = "";
}

async function recallTrack() {
  const from = Math.floor(Date.now() / 1000) - pastSeconds;
  const text = await (await read(`history/track.gpx?from=${from}&every=${pastEverySeconds}&simplify=${pastMetres}`)).text();
  const file = new DOMParser().parseFromString(text, "application/xml");
  const way = [...file.querySelectorAll("trkseg")].flatMap((segment) =>
    [...segment.querySelectorAll("trkpt")].map((element, index) => {
      const [lat, lon] = [Number(element.getAttribute("lat")), Number(element.getAttribute("lon"))];
      const isReckoned = element.querySelector("fix")?.textContent === "none";
      return { ...mercator({ lat, lon }), lat, lon, isReckoned, isStart: index === 0 };
    }));
  // The recorded track is shifted around the world so that it is nearest to the page's own track.
  past = connected([...track.slice(-1), ...way.reverse()]).slice(track.length ? 1 : 0).reverse();
  isPastKnown = true;
  extent = undefined;
}

/** Reads the recorded values for the charts of the last hour. */
async function recallTrends() {
  let address = `history?from=${Math.floor(Date.now() / 1000) - spanSeconds}&every=${trendEverySeconds}`;
  const samples = [];
  while (address) {
    const page = await (await read(address)).json();
    for (const one of page.states) {
      const at = Date.parse(one.time ?? "");
      if (!Number.isNaN(at)) samples.push(sampleOf(one, at));
    }
    address = page.next?.slice(1);
  }
  trends.recall(samples.sort((one, other) => one.at - other.at));
}

/** Stores changes of a device's power in the page, if the hub does not record. */
function noteLife({ id, power, forSeconds }, isMissed, now) {
  if (!lives.has(id)) lives.set(id, []);
  const changes = lives.get(id);
  const since = now - forSeconds * 1000;
  if (isMissed && changes.length) changes.push({ power: "unknown", at: now - (performance.now() - seenAt * 1000) });
  if (isMissed || changes.at(-1)?.power !== power) {
    changes.push({ power, at: since });
    drawnHistory = "";
  }
  while (changes.length > 1 && changes[1].at < now - daySeconds * 1000) changes.shift();
}

async function recallSegments() {
  const list = (await (await read("recordings")).json()).recordings.reverse();
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const items = list.map(({ name, from, to, bytes, writing }) => {
    const time = from ? `${from.slice(0, 10)} ${from.slice(11, 16)}–${to.slice(11, 16)}` : t("recordings.empty");
    return { name, text: `${time} · ${size(bytes)}${writing ? t("recordings.writing") : ""}` };
  });
  set("segments-count", t("recordings.count", { count: items.length }));
  const links = items.map(({ name, text }) => {
    // Keep an existing link, because it may have the focus.
    const item = document.getElementById(`segment-${name}`) ?? document.createElement("li");
    if (!item.id) {
      item.id = `segment-${name}`;
      item.append(document.createElement("a"));
      item.firstChild.href = `recordings/${name}`;
      item.firstChild.download = name;
    }
    if (item.firstChild.textContent !== text) item.firstChild.textContent = text;
    return item;
  });
  for (const item of [...$("segments").children]) if (!links.includes(item)) item.remove();
  links.forEach((item, index) => {
    if ($("segments").children[index] !== item) $("segments").insertBefore(item, $("segments").children[index] ?? null);
  });
}

/** The power states of a device in the last day, each with its period in milliseconds since 1970. */
function pieces(id, now) {
  const changes = lives.get(id) ?? [];
  return changes.map(({ power, at }, index) => ({
    power, from: Math.max(at, now - daySeconds * 1000), to: changes[index + 1]?.at ?? now,
  })).filter(({ from, to }) => to > from);
}

const isRest = (power) => ["off", "asleep", "awake", "failed", "unknown"].includes(power);

/** The row of a device in the timeline, created if necessary. */
function lifeOf(id) {
  const known = [...$("timeline").children].find((row) => row.dataset.id === id);
  if (known) return known;
  const row = document.createElement("div");
  row.className = "life";
  row.dataset.id = id;
  row.append(document.createElement("span"), document.createElement("canvas"));
  row.firstChild.textContent = row.firstChild.title = id;
  row.lastChild.setAttribute("role", "img");
  row.lastChild.addEventListener("pointermove", (event) => {
    const now = Date.now();
    const at = now - daySeconds * 1000 * (1 - event.offsetX / row.lastChild.clientWidth);
    const piece = pieces(id, now).find(({ from, to }) => from <= at && at < to);
    const minutes = (time) => clock(time).slice(0, 5);
    const said = { id, zone: zone() };
    set("history-at", piece
      ? t("history.piece", { ...said, power: word("power", piece.power), from: minutes(piece.from), to: minutes(piece.to) })
      : t("history.unknown", { ...said, at: minutes(at) }));
  });
  row.lastChild.addEventListener("pointerleave", () => set("history-at", t("history.span", { zone: zone() })));
  $("timeline").append(row);
  return row;
}

// MARK: Replay

const isReplayed = document.body.dataset.replay === "yes";
let replay = null;
let attending = null;
// The number of requests for the status, and their number before the last command.
let looks = 0;
let outdatedLooks = 0;
let told = Promise.resolve();
let commands = 0;
// The time to seek next, in milliseconds since 1970, while an earlier seek is in progress.
let sought = null;
let isSeeking = false;
// Whether the shown state is from before the last seek.
let isSought = false;
// Whether the user moves the slider, so that answers must not move it.
let isChoosing = false;
let placeSaidAt = -Infinity;

/** Requests the status of the replay regularly while the page listens. */
function attend() {
  if (!isReplayed || attending || paused || document.hidden) return;
  attending = setInterval(lookAtReplay, replayEveryMilliseconds);
  lookAtReplay();
}

function stopAttending() {
  clearInterval(attending);
  attending = null;
}

async function lookAtReplay() {
  if (commands) return;
  const look = ++looks;
  try {
    const status = await (await read("replay")).json();
    // An answer to a request from before the last command is outdated.
    if (look > outdatedLooks && !commands) showReplay(status);
  } catch {
    showUnanswered();
  }
}

const controls = ["replay-play", "replay-step", "replay-rate", "replay-place"];

/** Shows that the hub does not answer, and disables the controls. */
function showUnanswered() {
  set("replay-end", t("replay.noAnswer"));
  for (const id of controls) $(id).disabled = true;
}

/** Sends a command about the replay after all earlier commands. */
function command(query) {
  commands += 1;
  told = told.then(async () => {
    const answer = await fetch(`replay?${query}`, { method: "POST" }).catch(() => null);
    const status = answer?.ok ? await answer.json().catch(() => null) : null;
    commands -= 1;
    outdatedLooks = looks;
    placeSaidAt = -Infinity;
    if (status) showReplay(status);
    else showUnanswered();
  });
  return told;
}

function showReplay(status) {
  const isOtherRate = status.rate !== replay?.rate;
  replay = status;
  for (const id of controls) $(id).disabled = false;
  const [from, to] = [Date.parse(status.from), Date.parse(status.to)];
  // Ages do not grow faster than real time in a fast replay.
  setPace(status.paused || status.over ? 0 : Math.min(status.rate, 1));
  set("replay-play", t(status.over ? "replay.again" : status.paused ? "replay.on" : "replay.halt"));
  set("replay-end", status.over ? t("replay.over") : status.paused ? t("replay.halted") : t("replay.to", { time: utcClock(to) }));
  const place = $("replay-place");
  // A key moves the slider by a second, in long recordings by more.
  place.step = Math.max(1, Math.ceil((to - from) / 600_000));
  place.max = Math.max(1, Math.ceil((to - from) / 1000 / place.step)) * place.step;
  const rate = $("replay-rate");
  if (![...rate.options].some((option) => Number(option.value) === status.rate)) {
    rate.add(new Option(`${status.rate} ×`, status.rate));
  }
  // An unchanged rate must not overwrite the user's choice in progress.
  if (isOtherRate) rate.value = String(status.rate);
  if (!isChoosing && sought === null) {
    place.value = (Date.parse(status.time) - from) / 1000;
    showPlace(Date.parse(status.time));
  }
  redraw();
}

/** Shows a time of the replay, in milliseconds since 1970, next to the slider. */
function showPlace(milliseconds) {
  const text = new Date(milliseconds).toISOString();
  set("replay-time", `${text.slice(0, 10)} ${text.slice(11, 19)}`);
  // A screen reader would read every change, so update this text less often.
  if (!isChoosing && !replay.paused && !replay.over && performance.now() - placeSaidAt < describeMilliseconds) return;
  placeSaidAt = performance.now();
  $("replay-place").setAttribute("aria-valuetext", `${text.slice(11, 19)} UTC`);
}

const chosen = () => Date.parse(replay.from) + Number($("replay-place").value) * 1000;

async function seek() {
  if (isSeeking) return;
  isSeeking = true;
  while (sought !== null) {
    const to = new Date(Math.min(sought, Date.parse(replay.to))).toISOString();
    sought = null;
    isSought = true;
    await command(`to=${to}`);
  }
  isSeeking = false;
}

if (isReplayed) {
  $("replay-play").addEventListener("click", () => {
    if (!replay) return;
    if (replay.over) command(`to=${replay.from}&paused=false`);
    else command(`paused=${!replay.paused}`);
  });
  $("replay-step").addEventListener("click", () => command("step=1"));
  $("replay-rate").addEventListener("change", () => command(`rate=${$("replay-rate").value}`));
  const place = $("replay-place");
  place.addEventListener("input", () => {
    if (!replay) return;
    isChoosing = true;
    showPlace(chosen());
  });
  place.addEventListener("change", () => {
    isChoosing = false;
    if (!replay) return;
    sought = chosen();
    seek();
  });
  // A slider that was moved and put back sends no change event.
  for (const event of ["pointerup", "pointercancel", "blur"]) place.addEventListener(event, () => (isChoosing = false));
}

// A clock in milliseconds for ages. It stops while a replay is paused. Without a replay it runs like any clock.
let elapsedMilliseconds = 0;
let pace = 1;
let pacedAt = performance.now();

function elapsed() {
  const now = performance.now();
  elapsedMilliseconds += (now - pacedAt) * pace;
  pacedAt = now;
  return elapsedMilliseconds;
}

function setPace(newPace) {
  elapsed();
  pace = newPace;
}

// MARK: Drawing

let isRedrawAsked = false;
// Whether the next frame must draw everything, even if that was drawn recently.
let isUrgentAsked = false;
let drawnAt = -Infinity;
// The values for which the map, the horizon and the sky were drawn, and the time at which the charts were drawn.
let drawnMap = "";
let drawnPose = "";
let drawnSky = "";
let drawnPictures = -Infinity;
// A cache of the style's colours.
const colours = new Map();

function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
}

/** Draws everything again, for example after a change of colours, size or language. */
function redrawAll() {
  colours.clear();
  drawnMap = drawnPose = drawnSky = drawnHistory = "";
  for (const device of devices.values()) device.drawn = "";
  drawnPictures = -Infinity;
  redraw(true);
}

/** The time between two frames. With reduced motion, the pictures change once a second. */
const pauseMilliseconds = () => (calm.matches ? calmMilliseconds : drawMilliseconds);

function redraw(isUrgent = false) {
  isUrgentAsked ||= isUrgent === true;
  if (isRedrawAsked || document.hidden) return;
  const isDue = isUrgentAsked || performance.now() - drawnAt >= pauseMilliseconds();
  if (!isDue && (!isOpen("tilt") || calm.matches || poseKey() === drawnPose)) return;
  isRedrawAsked = true;
  requestAnimationFrame(draw);
}

function draw() {
  isRedrawAsked = false;
  const now = performance.now();
  const isDue = isUrgentAsked || now - drawnAt >= pauseMilliseconds();
  if (isDue) {
    isUrgentAsked = false;
    drawnAt = now;
    showTexts();
  }
  if (isOpen("tilt")) drawPose();
  if (isDue) drawPictures();
}

/** Shows all texts. Nothing here asks for the size of an element, so that the browser lays the page out only once. */
function showTexts() {
  showState();
  showPanels();
  showPower();
  showHolds();
  showFences();
  showAnchor();
  showBanner();
  set("zone", zone());
}

/** Draws the pictures that have changed, and shows what depends on the sizes of elements. */
function drawPictures() {
  makeBannerScrollable();
  showMore("devices");
  showMore("fences");
  if (document.body.dataset.map !== "no") drawMap();
  if (isOpen("sky")) drawSkyOnce();
  if (isOpen("devices")) for (const device of devices.values()) drawTimeline(device);
  if (isOpen("hour")) drawTrends();
  if (isOpen("day")) {
    drawHistory();
    showEnergyLog();
  }
}

/** The attitude in steps of about a pixel of the horizon. */
function poseKey() {
  const { attitude } = state ?? {};
  if (!attitude) return "none";
  const canvas = $("horizon");
  const steps = Math.min(canvas.width, canvas.height) / 80;
  return [attitude.roll, attitude.pitch, attitude.yaw ?? NaN].map((degrees) => Math.round(degrees * steps)).join();
}

function drawPose() {
  if (poseKey() === drawnPose) return;
  drawHorizon($("horizon"), state?.attitude, colour);
  // The first picture determines the size of the steps.
  drawnPose = poseKey();
}

function drawSkyOnce() {
  const isStale = sky && !isSkyNew();
  const key = `${skyAt},${isStale}`;
  if (key === drawnSky) return;
  drawnSky = key;
  drawSky($("sky"), sky, isStale, colour);
}

function drawTrends() {
  if (drawnAt - drawnPictures < 2000) return;
  drawnPictures = drawnAt;
  const now = isReplayed ? trends.samples.at(-1)?.at ?? Date.now() : Date.now();
  $("hour-none").hidden = !trends.isEmpty;
  set("hour-span", `${spanText(now)} ${zone()}`);
  trends.draw(now, colour);
}

/** Shows the energy of the last day for each client. */
function showEnergyLog() {
  const spent = new Map();
  for (const { status } of devices.values()) {
    for (const { payer, milliwattHours } of status.bills?.day ?? []) spent.set(payer, (spent.get(payer) ?? 0) + milliwattHours);
  }
  const lines = [...spent].filter(([, cost]) => cost >= 0.001).sort(([, one], [, other]) => other - one).slice(0, 10);
  const list = $("energy-log");
  while (list.children.length > lines.length) list.lastElementChild.remove();
  lines.forEach(([payer, cost], index) => {
    if (!list.children[index]) list.append(made("li", "", made("span", "who"), made("span")));
    const [who, what] = list.children[index].children;
    if (who.textContent !== payer) who.textContent = payer;
    const text = energy(cost);
    if (what.textContent !== text) what.textContent = text;
  });
  $("energy-log-none").hidden = lines.length > 0;
}

/** Whether the track has a gap between two moments. */
function isGap(before, after) {
  if (!before || after.at - before.at > gapSeconds * 1000) return true;
  if (!isReplayed) return false;
  // In a replay at another rate, the page's own clock does not show a gap.
  const passed = after.monotonic - before.monotonic;
  const leapt = (Date.parse(after.time) - Date.parse(before.time)) / 1000 - passed;
  return passed > gapSeconds || Math.abs(leapt) > jumpSeconds;
}

function follow({ position, mode, time, monotonic }) {
  const moment = { at: elapsed(), time, monotonic };
  const isStart = isGap(followed, moment);
  followed = moment;
  const isReckoned = mode === "deadReckoning";
  const { lat, lon } = position;
  const last = track.at(-1);
  const height = position.altMSL ?? position.altHAE;
  const point = beside(
    { ...mercator(position), lat, lon, height, time, isReckoned, isStart }, last ?? past.at(-1));
  const isNear = last && Math.hypot(point.x - last.x, point.y - last.y) < 0.5 * metreAt(lat);
  if (isNear && !isStart) return;
  track.push(point);
  extent = extent ? bounds([[{ x: extent.left, y: extent.top }, { x: extent.right, y: extent.bottom }, point]]) : undefined;
  if (track.length > trackPoints) thin();
}

/** Simplifies the older half of the track, but keeps its bends. A page that stays open has a track of the whole day. */
function thin() {
  const half = trackPoints / 2;
  const older = track.slice(0, half);
  const metre = metreAt(track.at(-1).lat);
  let coarse = older;
  for (let metres = 1; coarse.length > half / 2 && metres < 2000; metres *= 2) coarse = simplified(older, metres * metre);
  // Separate dots of scheduled fixes cannot be simplified as a line, so drop every other one.
  if (coarse.length > half / 2) coarse = coarse.filter((_, index) => index % 2 === 0);
  track = [...coarse, ...track.slice(half)];
  extent = undefined;
}

// MARK: The map

const camera = new Camera($("chart"), () => redrawAll(), grabAnchor);
$("map-in").addEventListener("click", () => camera.zoomBy(1.6));
$("map-out").addEventListener("click", () => camera.zoomBy(1 / 1.6));
$("map-follow").addEventListener("click", () => camera.follow());
$("map-turn").addEventListener("click", () => camera.turn());
$("map-all").addEventListener("click", () => camera.showAll());

const tileLimit = 240;
const tiles = new Map();
const tileTemplate = document.body.dataset.tiles;
const tileFile = tileTemplate && !tileTemplate.includes("{z}") ? new TileFile(tileTemplate) : null;
// The zoom levels of the map. For a map file they are in its header.
let levels = tileFile ? null : { least: 0, most: 19 };
// The problem of the last tile or of the map file; empty without a problem.
let mapTrouble = "";
let isFileTried = false;

/** A tile's picture; `null` until it is loaded. If `isAsked` is set, a missing tile is requested. */
function tile(level, column, row, isAsked) {
  const key = `${level}/${column}/${row}`;
  const known = tiles.get(key);
  if (known || !isAsked) return known?.picture ?? null;
  if (tiles.size > tileLimit) {
    const [first, old] = tiles.entries().next().value;
    old.picture?.close?.();
    tiles.delete(first);
  }
  const entry = { picture: null };
  tiles.set(key, entry);
  const come = (picture) => {
    entry.picture = picture;
    mapTrouble = "";
    drawnMap = "";
    redraw();
  };
  const fail = (trouble) => {
    mapTrouble = trouble;
    drawnMap = "";
    redraw();
  };
  if (tileFile) {
    tileFile.picture(level, column, row).then(come, (error) => fail(t("map.file", { reason: error.message })));
    return null;
  }
  const image = new Image();
  image.onload = () => come(image);
  image.onerror = () => fail(t("map.away"));
  image.src = tileTemplate.replace("{z}", level).replace("{x}", column).replace("{y}", row);
  return null;
}

/** Reads the zoom levels of the map file once. */
function openTileFile() {
  if (isFileTried) return;
  isFileTried = true;
  tileFile.open().then((header) => {
    levels = { least: header.least, most: header.most };
  }, (error) => {
    mapTrouble = t("map.file", { reason: error.message });
    setTimeout(() => (isFileTried = false), 10_000);
  }).finally(() => {
    drawnMap = "";
    redraw();
  });
}

function drawTiles(pen, view, width, height) {
  if (!tileTemplate) return;
  if (!levels) return openTileFile();
  const { zoom } = view;
  const level = Math.max(levels.least, Math.min(levels.most, Math.round(Math.log2(zoom / 256) - 0.3)));
  const count = 2 ** level;
  const size = zoom / count;
  // If the lowest level of a file would need too many tiles, none is drawn.
  if ((width / size + 1) * (height / size + 1) > tileLimit / 2) return;
  for (let x = Math.floor(view.left * count); x <= view.right * count; x++) {
    for (let y = Math.max(0, Math.floor(view.top * count)); y <= Math.min(count - 1, view.bottom * count); y++) {
      const column = ((x % count) + count) % count;
      const place = [(x / count - view.left) * zoom, (y / count - view.top) * zoom, size, size];
      const picture = tile(level, column, y, true);
      if (picture) {
        pen.drawImage(picture, ...place);
        continue;
      }
      // Until the tile is loaded, draw the part of a loaded tile of a lower level.
      for (let up = 1; up <= 5 && up <= level; up++) {
        const larger = tile(level - up, column >> up, y >> up, false);
        if (!larger) continue;
        const side = larger.width / 2 ** up;
        pen.drawImage(larger, (column % 2 ** up) * side, (y % 2 ** up) * side, side, side, ...place);
        break;
      }
    }
  }
  dim(pen, width, height);
}

/** Dims the tiles in the dark theme, and makes them red in the night theme. */
function dim(pen, width, height) {
  const theme = settings.theme === "auto" ? (darkness.matches ? "dark" : "light") : settings.theme;
  if (theme === "light") return;
  if (theme === "night") {
    pen.globalCompositeOperation = "multiply";
    pen.fillStyle = "#7a140c";
    pen.fillRect(0, 0, width, height);
    pen.globalCompositeOperation = "source-over";
  }
  pen.fillStyle = theme === "night" ? "#0006" : "#0a0e138c";
  pen.fillRect(0, 0, width, height);
}

function drawMap() {
  const chart = $("chart");
  const [width, height] = [chart.clientWidth, chart.clientHeight];
  if (!width || !height) return;
  const last = track.at(-1) ?? past.at(-1);
  const edges = fenceEdges(last);
  const spot = anchor.place;
  const anchorPlace = spot ? { lat: spot.lat, ...mercator(spot) } : null;
  // The grid is drawn even before the first position.
  const metre = metreAt((last ?? edges[0]?.way[0] ?? anchorPlace)?.lat ?? 0);
  if (extent === undefined) extent = bounds([past, track]);
  const ways = extent ? [[{ x: extent.left, y: extent.top }, { x: extent.right, y: extent.bottom }]] : [];
  const framed = framedEdges(edges, ways, metre);
  const shown = [...ways, ...framed.map(({ way }) => way)];
  if (anchorPlace) {
    const { x, y } = beside(anchorPlace, last);
    const far = spot.radius * metre;
    shown.push([{ x: x - far, y: y - far }, { x: x + far, y: y + far }]);
  }
  const vehicle = track.length ? last : undefined;
  const course = state?.velocity && state.velocity.speed > 0.5 ? state.velocity.track ?? state.attitude?.yaw : state?.attitude?.yaw;
  const view = camera.look(shown, vehicle, course, width, height, metre);
  const place = placed(view);
  const heading = state?.attitude?.yaw ?? state?.velocity?.track;
  const isResting = document.querySelector("main").classList.contains("resting");
  // The map is drawn again only after a visible change.
  const where = last ? place(last).map(Math.round) : [];
  const key = [
    ...where, Math.round(view.left * view.zoom), Math.round(view.top * view.zoom), Math.round(view.zoom), view.turn.toFixed(3),
    width, height, Math.round(heading ?? 0), ((state?.position?.sigmaHorizontal ?? 0) * metre * view.zoom).toFixed(0),
    track.length > 0, last?.isStart, past.length, isResting, last?.isReckoned, ...edges.map(({ name, look }) => `${name}${look}`),
    anchor.radius, anchor.isAlarmed, isOpen("anchor"), spot?.at,
  ].join();
  if (key === drawnMap) return;
  drawnMap = key;
  for (const [id, isPressed] of [["map-follow", camera.mode === "follow"], ["map-all", camera.mode === "all"], ["map-turn", camera.isCourseUp]]) {
    setAttribute($(id), "aria-pressed", String(isPressed));
  }
  const { pen, letters } = prepare($("map"));
  turned(pen, view, (wide, across, down) => drawGrid(pen, wide, across, down, colour));
  if (!last && !edges.length && !anchorPlace) return;
  turned(pen, view, (wide, across, down) => drawTiles(pen, wide, across, down));
  drawFences(pen, place, edges, framed, width, height, letters, colour);
  drawAnchor(pen, view, place, letters, colour);
  pen.globalAlpha = 0.4;
  pen.lineWidth = 2;
  drawLines(pen, place, past);
  pen.globalAlpha = 1;
  pen.lineWidth = 3;
  drawLines(pen, place, track);
  drawStarts(pen, place);
  if (track.length) drawVehicle(pen, place(last), metre * view.zoom, last, heading, view.turn, isResting);
  drawScale(pen, view, height, letters, mapTrouble, !tileTemplate, colour, t(view.turn ? "map.courseUp" : "map.northUp"));
}

/** Draws a track: a solid line for fixes, a dashed line for dead reckoning, and no line across gaps. */
function drawLines(pen, place, way) {
  for (let index = 1; index < way.length; ) {
    const { isReckoned } = way[index];
    pen.strokeStyle = colour(isReckoned ? "warn" : "accent");
    pen.setLineDash(isReckoned ? [2, 7] : []);
    pen.beginPath();
    let [x, y] = place(way[index - 1]);
    pen.moveTo(x, y);
    for (; index < way.length && way[index].isReckoned === isReckoned; index++) {
      const [left, top] = place(way[index]);
      if (way[index].isStart) {
        pen.moveTo(left, top);
      } else {
        // Skip a point that is less than a pixel away, except at the end of a part.
        const isLast = index + 1 === way.length || way[index + 1].isStart || way[index + 1].isReckoned !== isReckoned;
        if (!isLast && Math.abs(left - x) + Math.abs(top - y) < 1) continue;
        pen.lineTo(left, top);
      }
      [x, y] = [left, top];
    }
    pen.stroke();
  }
  pen.setLineDash([]);
  // A part with a single point, such as a scheduled fix, has no line. Draw a dot.
  for (const [index, point] of way.entries()) {
    if (index && !point.isStart) continue;
    if (index + 1 < way.length && !way[index + 1].isStart) continue;
    pen.fillStyle = colour(point.isReckoned ? "warn" : "accent");
    pen.beginPath();
    pen.arc(...place(point), 3, 0, 2 * Math.PI);
    pen.fill();
  }
}

/** Draws a ring at the beginning of each part of the track. */
function drawStarts(pen, place) {
  pen.lineWidth = 2;
  pen.strokeStyle = colour("accent");
  pen.fillStyle = colour("inset");
  for (const point of track.filter((point) => point.isStart)) {
    pen.beginPath();
    pen.arc(...place(point), 4, 0, 2 * Math.PI);
    pen.fill();
    pen.stroke();
  }
}

function drawVehicle(pen, [x, y], metre, last, heading, turn, isResting) {
  const tone = colour(isResting ? "muted" : last.isReckoned ? "warn" : "accent");
  const sigma = state?.position?.sigmaHorizontal;
  if (sigma) {
    // The circle that contains the position with a probability of 95 %.
    pen.fillStyle = pen.strokeStyle = tone;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.arc(x, y, Math.max(2.448 * sigma * metre, 1), 0, 2 * Math.PI);
    pen.globalAlpha = 0.14;
    pen.fill();
    pen.globalAlpha = 0.5;
    pen.stroke();
    pen.globalAlpha = 1;
  }
  pen.save();
  pen.translate(x, y);
  pen.fillStyle = tone;
  pen.strokeStyle = colour("card");
  pen.lineWidth = 2;
  pen.beginPath();
  if (heading === undefined) {
    pen.arc(0, 0, 7, 0, 2 * Math.PI);
  } else {
    pen.rotate((heading * Math.PI) / 180 - turn);
    pen.moveTo(0, -16);
    pen.lineTo(10, 12);
    pen.lineTo(0, 6);
    pen.lineTo(-10, 12);
    pen.closePath();
  }
  pen.stroke();
  pen.fill();
  pen.restore();
}

function drawTimeline(device) {
  const canvas = device.element.querySelector("canvas");
  const now = performance.now() / 1000;
  // The timeline moves by a pixel in this time.
  const step = timelineSeconds / Math.max(1, canvas.width);
  const key = [Math.floor(now / step), device.history.length, device.history.at(-1).power, isAwayNow()].join();
  if (key === device.drawn) return;
  device.drawn = key;
  const { pen, width, height } = prepare(canvas);
  hatch(pen, width, height, colour);
  const place = (at) => width * (1 - (now - at) / timelineSeconds);
  device.history.forEach(({ power, at }, index) => {
    if (power === "unknown") return;
    // The time after the last answer is unknown.
    const to = place(device.history[index + 1]?.at ?? seenAt ?? now);
    // A working device has a high bar and a resting one a low bar, so that the colour is not the only difference.
    const share = power === "off" || power === "asleep" || power === "failed" ? 0.2 : 1;
    drawPiece(pen, Math.max(0, place(at)), to, height, power, share, colour);
  });
  // A mark for each minute.
  pen.fillStyle = colour("card");
  for (let minute = 1; minute < timelineSeconds / 60; minute++) pen.fillRect(place(now - minute * 60), 0, 1, height);
}

/** Draws the timeline of the day, once a minute. */
function drawHistory() {
  const ids = [...new Set([...devices.keys(), ...lives.keys()])];
  const now = Date.now();
  const key = [ids, innerWidth, devicePixelRatio, colour("card"), Math.floor(now / recallMilliseconds)].join();
  if (key === drawnHistory) return;
  drawnHistory = key;
  for (const row of [...$("timeline").children]) if (!ids.includes(row.dataset.id)) row.remove();
  for (const id of ids) {
    const canvas = lifeOf(id).lastChild;
    const { pen, width, height } = prepare(canvas);
    hatch(pen, width, height, colour);
    const place = (at) => width * (1 - (now - at) / daySeconds / 1000);
    let [onMilliseconds, wakes, last] = [0, 0, null];
    for (const { power, from, to } of pieces(id, now)) {
      if (!isRest(power)) {
        onMilliseconds += to - from;
        if (last === null || isRest(last)) wakes += 1;
      }
      last = power;
      if (power === "unknown") continue;
      drawPiece(pen, place(from), place(to), height, power, isRest(power) ? 0.2 : 1, colour);
    }
    const times = wakes === 1 ? t("once") : t("times", { count: wakes });
    const said = { id, times, time: duration(onMilliseconds / 1000), power: word("power", last) };
    canvas.setAttribute("aria-label", t(last === null ? "history.none" : "history.label", said));
  }
  const { pen, width, letters } = prepare($("hours"));
  pen.fillStyle = colour("muted");
  pen.textAlign = "center";
  const hour = 3_600_000;
  const step = width < 500 ? 6 : width < 900 ? 3 : 2;
  for (let at = Math.ceil((now - 24 * hour) / hour) * hour; at < now; at += hour) {
    const name = settings.time === "utc" ? new Date(at).getUTCHours() : new Date(at).getHours();
    const x = width * (1 - (now - at) / daySeconds / 1000);
    if (name % step || x < letters * 1.5 || x > width - letters * 1.5) continue;
    pen.fillText(`${String(name).padStart(2, "0")}:00`, x, letters);
  }
}

const credit = $("credit");
if (credit.textContent === "© OpenStreetMap contributors") {
  const link = made("a", "", "OpenStreetMap");
  link.href = "https://www.openstreetmap.org/copyright";
  link.rel = "noopener";
  credit.replaceChildren("© ", link, " contributors");
}
$("taking").hidden = !isRecorded;
open("now");
applySettings();
present();
// Ages grow without states. While states come, each of them draws what is due.
setInterval(() => {
  if (performance.now() - drawnAt >= 2 * drawMilliseconds || !isListening()) redraw();
}, 500);
setInterval(watchAnchor, 1000);
setInterval(() => {
  // The page reloads by itself, because it may be on a wall without a user. But a reload would disable the sound of an
  // anchor alarm until the next press, so the page then stays.
  if (reloadAt !== null && anchor.place && settings.sound === "on") reloadAt = null;
  if (reloadAt !== null && performance.now() > reloadAt && !isAwayNow()) location.reload();
}, 1000);
if (isRecorded) setInterval(recall, 5000);
