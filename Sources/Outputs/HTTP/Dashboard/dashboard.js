// The dashboard. An open event stream is a subscription and keeps the devices awake, so there is one only while somebody
// can see the page and has not paused it. The devices and the fences are only looked at, which wakes nothing.

import { beside, bounds, connected, drawGrid, drawScale, frame, mercator, metreAt, placed, prepare } from "./map.js";

const $ = (id) => document.getElementById(id);
const rateHz = 10;
const staleSeconds = 2;
// Satellites come with the receiver's epochs, which may be some seconds apart, and move slowly.
const skyStaleSeconds = 12;
// Without a position for so long, where the board has been meanwhile is not known.
const gapSeconds = 10;
const timelineSeconds = 300;
// The devices are looked at each second. An answer that is so old is none of now.
const lookLimitSeconds = 5;
// A change between two looks was just then, unless they are further apart.
const lookGapSeconds = 3;
const trackPoints = 8000;
// A fix may come so late as a rule: it shares the wake of another, and takes an epoch.
const lateSeconds = 6;
// A fence that would make the map so many times as wide, or wider, is on it as far as it goes.
const mostWider = 4;
const leastWideMetres = 250;
const holdSeconds = 60;
// What it takes a screen reader to say the last description.
const describeMilliseconds = 5000;
const powers = ["off", "asleep", "awake", "settling", "acquiring", "tracking", "lingering", "failed"];
// A replay's state whose time has gone on by so much more or less than the hub's clock belongs to another part of it.
const jumpSeconds = 0.5;
const replayEveryMilliseconds = 500;
// What was recorded: how far the map and the timeline look back, and how often they look.
const pastSeconds = 6 * 3600;
// At most 2160 points of the way: its bends, as far as they show.
const pastEverySeconds = 10;
const pastMetres = 5;
const daySeconds = 86_400;
const recallMilliseconds = 60_000;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

let stream = null;
let poll = null;
let paused = false;
let isRefused = false;
let state = null;
let stateAt = 0;
/** When the last fix was, by the hub's clock that only goes on, in seconds. */
let fixAt = null;
let sky = null;
let skyAt = 0;
// Points of the way; one that begins after a gap says so.
let track = [];
let followed = null;
const devices = new Map();
// When the hub last said what its devices do, in seconds of this page's, and whether it has failed to since.
let seenAt = null;
let isUnanswered = false;

// MARK: Subscribing

function listen() {
  attend();
  if (stream || paused || document.hidden) return;
  stream = new EventSource(`events?rate=${rateHz}`);
  stream.onopen = () => (isRefused = false);
  stream.onmessage = (event) => {
    state = JSON.parse(event.data);
    stateAt = elapsed();
    isSought = false;
    if (state.position && isLive(state.mode)) follow(state);
    redraw();
  };
  stream.addEventListener("sky", (event) => {
    sky = JSON.parse(event.data);
    skyAt = elapsed();
    redraw();
  });
  stream.onerror = () => {
    // The browser tries again by itself, unless it was told to stay away.
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
  // What comes after this is another part of the way.
  followed = null;
  redraw();
}

const isLive = (mode) => mode !== "none" && mode !== "asleep";

function observe() {
  if (poll || document.hidden) return;
  poll = setInterval(look, 1000);
  look();
}

async function look() {
  try {
    const [{ devices: list, conditions }, { fences: areas }] = await Promise.all(
      ["devices", "fences"].map(async (address) => (await read(address)).json()));
    const isHeld = list.some((status) => status.holders.some((holder) => holder.startsWith("held for ")));
    const holds = isHeld ? (await (await fetch("holds", { cache: "no-store" })).json()).holds : [];
    showDevices(list, holds);
    takeFences(areas);
    hubConditions = conditions ?? [];
    isUnanswered = false;
  } catch {
    // The next look finds out whether the hub is back.
    isUnanswered = true;
  }
  redraw();
}

function present() {
  if (document.hidden) {
    clearInterval(poll);
    poll = null;
    stopListening();
  } else {
    observe();
    listen();
    recall();
  }
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").textContent = paused ? "Resume" : "Pause";
  if (paused) stopListening();
  else listen();
});
document.addEventListener("visibilitychange", present);
addEventListener("pagehide", stopListening);
addEventListener("pageshow", present);
addEventListener("resize", () => redraw(true));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw(true));

// MARK: Text

const fixed = (value, decimals, unit = "") => (value === undefined ? "–" : `${value.toFixed(decimals)}${unit}`);
const signed = (value) => (value === undefined ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}°`);
const bearing = (value) => (value === undefined ? "–" : `${String(Math.round(value) % 360).padStart(3, "0")}°`);
const point = (value) =>
  value === undefined ? "–" : ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"][Math.round(value / 45) % 8];
const hemisphere = (value, names) =>
  value === undefined ? "–" : `${Math.abs(value).toFixed(6)}° ${value < 0 ? names[1] : names[0]}`;
const clock = (milliseconds) =>
  Number.isNaN(milliseconds) ? "––:––:––" : new Date(milliseconds).toISOString().slice(11, 19);

function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds / 60) % 60)).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds / 3600) % 24)} h`;
}

// As `sensorhub devices` has it.
function energy(milliwattHours) {
  if (milliwattHours < 1) return `${milliwattHours.toFixed(3)} mWh`;
  return milliwattHours < 1000 ? `${milliwattHours.toPrecision(3)} mWh` : `${(milliwattHours / 1000).toFixed(1)} Wh`;
}

function set(id, text) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
}

/** Whether what the hub sends comes here. */
const isListening = () => stream?.readyState === EventSource.OPEN;

/** How old something is: in a word while it is new, and more can come. */
function setAge(id, seconds, limit, isComing = isListening()) {
  const isStale = seconds !== undefined && (seconds > limit || !isComing);
  set(id, seconds === undefined ? "–" : isStale ? `${duration(seconds)} old` : "live");
  $(id).className = `age ${seconds === undefined ? "" : isStale ? "stale" : "live"}`;
  return isStale;
}

/** How it is, in a word, its time, a colour and a sentence. */
function condition(since) {
  if (paused) return { word: "paused", look: "", note: "This page keeps nothing awake; what it shows is what was last known." };
  if (isRefused) return { word: "refused", look: "bad", note: "The hub does not let this page listen; it tries again." };
  if (!isListening()) {
    return { word: state ? "reconnecting" : "connecting", look: state ? "bad" : "", note: state ? "The hub does not answer." : "" };
  }
  if (replay?.over) return { word: "over", look: "", note: "The replay is over: start it again, or choose another time." };
  if (replay?.paused) {
    const note = isSought ? "Nothing has been played from here yet: go on, or step." : "The replay is halted.";
    return { word: "halted", look: "", note };
  }
  const trouble = state ? undefined : alarms().find(({ severity }) => severity === "problem");
  if (trouble) return { word: "not working", look: "bad", note: "What is the matter stands below." };
  if (!state) return { word: "waking", look: "", note: "The devices start; a first fix may take half a minute." };
  if (since > staleSeconds) return { word: "no new state", look: "bad", note: "The hub is there, its devices are silent." };
  switch (state.mode) {
    case "fused": return { word: "fused", look: "good", note: "Position and attitude are one solution of receiver and IMU." };
    case "gnss": return { word: "GNSS", look: "good", note: "The position is the receiver's own." };
    case "attitude":
      // Nothing is missing where there is no receiver.
      return devices.size && ![...devices.values()].some((device) => device.kind === "receiver")
        ? { word: "attitude", look: "good", note: "This board has no receiver, and so no position." }
        : { word: "attitude only", look: "warn", note: "There is no position yet." };
    case "asleep": return { word: "asleep", look: "", note: "Nobody listens; what is shown is what was last known." };
    case "none": return { word: "no fix", look: "warn", note: fixAt === null ? "The receiver has not found its position yet." : "The receiver has lost its position." };
    case "deadReckoning":
      return {
        word: "dead reckoning", time: state.deadReckoningSeconds === undefined ? "" : `for ${duration(state.deadReckoningSeconds + since)}`,
        look: "warn", note: "No fixes: the IMU carries the position on, and its accuracy wears off.",
      };
    default: return { word: state.mode, look: "", note: "" };
  }
}

/** The satellites of a list that may have several signals of each: the strongest stands for it, which is used where one of them is. */
function satellitesOf(sky) {
  const all = new Map();
  for (const signal of sky?.satellites ?? []) {
    const name = `${signal.gnssid} ${signal.svid ?? signal.PRN}`;
    const known = all.get(name);
    const strongest = known && (known.ss ?? 0) >= (signal.ss ?? 0) ? known : signal;
    all.set(name, { ...strongest, used: signal.used || known?.used });
  }
  return [...all.values()];
}

/** Whether satellites are of now: nothing is new that nobody listens for. */
const isSkyNew = () => isListening() && elapsed() - skyAt <= skyStaleSeconds * 1000;

/** When the fix was that is shown; without one, how long ago the last was that this page has seen. */
function fixTime(fix, stateMilliseconds, since) {
  const isFix = (fix?.mode ?? 0) >= 2;
  if (isFix) fixAt = state.monotonic - fix.age;
  if (isFix) return Number.isNaN(stateMilliseconds) ? "–" : `${clock(stateMilliseconds - fix.age * 1000)} UTC`;
  // Another run of the hub, or a replay that was put back, knows nothing of it.
  if (fixAt !== null && state && state.monotonic < fixAt) fixAt = null;
  return fixAt === null || !state ? "–" : `last fix ${duration(state.monotonic - fixAt + since)} ago`;
}

let describedAt = -Infinity;

function showState() {
  const now = performance.now();
  const since = (elapsed() - stateAt) / 1000;
  const { position, velocity, attitude, air, supply, fix } = state ?? {};
  const { word, time = "", look, note } = condition(since);
  // A screen reader says the word when it changes; the seconds behind it are for the eye.
  set("mode", word);
  set("mode-time", time);
  set("note", note);
  $("badge").className = `badge ${look}`;
  const main = document.querySelector("main");
  main.classList.toggle("resting", !stream || look === "bad" || isSought || !isLive(state?.mode ?? "none"));
  main.classList.toggle("reckoning", state?.mode === "deadReckoning" && look === "warn");

  set("lat", hemisphere(position?.lat, "NS"));
  set("lon", hemisphere(position?.lon, "EW"));
  set("sigma", position?.sigmaHorizontal === undefined ? "–" : `±${position.sigmaHorizontal.toFixed(1)} m`);
  set("height", fixed(position?.altMSL ?? position?.altHAE, 1, " m"));
  set("speed", fixed(velocity?.speed, 1));
  set("speed-others", velocity ? `${(velocity.speed * 3.6).toFixed(0)} km/h · ${(velocity.speed * 1.94384).toFixed(1)} kn` : "–");
  set("track", bearing(velocity?.track));
  set("track-point", point(velocity?.track));
  const kinds = ["unknown", "none", "2D", "3D"];
  set("fix", fix ? kinds[fix.mode] ?? "–" : "–");
  const doubts = [];
  if (fix?.jamming === "warning" || fix?.jamming === "critical") doubts.push(`jamming: ${fix.jamming}`);
  if (fix?.spoofing === "indicated" || fix?.spoofing === "multiple") doubts.push("spoofing");
  if (state?.refusal) doubts.push(`fixes refused, ${state.refusal.metres.toFixed(0)} m off`);
  $("trust").hidden = doubts.length === 0;
  set("trust-badge", doubts.join(", ") || "–");
  // The state's own time; this browser's clock is all there is while nothing comes.
  const stateMilliseconds = Date.parse(state?.time ?? "");
  const isTold = !Number.isNaN(stateMilliseconds);
  set("fix-time", fixTime(fix, isTold ? stateMilliseconds : NaN, since));
  const isNow = isTold && stream && since < staleSeconds && !isSought;
  set("utc", clock(isNow ? stateMilliseconds + (pace && since * 1000) : isReplayed ? Date.parse(replay?.time) : Date.now()));
  set("roll", signed(attitude?.roll));
  set("pitch", signed(attitude?.pitch));
  set("yaw", bearing(attitude?.yaw));
  // Only where there is a barometer.
  $("air").hidden = !air;
  set("pressure", air ? `${(air.pressure / 100).toFixed(1)} hPa` : "–");
  set("temperature", fixed(air?.temperature, 1, " °C"));
  set("humidity", fixed(air?.humidity, 0, " %"));
  $("supply").hidden = !supply;
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
  setAge("attitude-age", attitude ? attitude.age + since : undefined, staleSeconds);
  const isSkyStale = setAge("sky-age", sky ? (elapsed() - skyAt) / 1000 : undefined, skyStaleSeconds);
  $("map-empty").hidden = track.length + past.length > 0;
  $("gpx").disabled = track.length === 0;

  if (now - describedAt < describeMilliseconds) return;
  describedAt = now;
  const where = position ? `${$("lat").textContent}, ${$("lon").textContent}` : "no position yet";
  const sides = [...fences].map(([name, { status }]) => `; fence ${name}: ${isAwayNow() ? "was " : ""}${status.state}`).join("");
  $("map").setAttribute("aria-label", `Track: ${where}${isPositionStale ? ", stale" : ""}${sides}`);
  const pose = `roll ${$("roll").textContent}, pitch ${$("pitch").textContent}, heading ${$("yaw").textContent}`;
  $("horizon").setAttribute("aria-label", attitude ? `Horizon: ${pose}` : "Horizon: no attitude yet");
  $("sky").setAttribute(
    "aria-label",
    sky ? `Sky: ${satellites.length} satellites in view, ${used} used${isSkyStale ? ", stale" : ""}` : "Sky: no satellites yet");
}

// MARK: Devices

function makeDevice(status) {
  const element = document.createElement("li");
  element.className = "device";
  element.innerHTML = `<div class="top"><h3></h3><span class="power"></span></div><div class="line"><p class="what"></p><p class="cost"></p></div>
    <canvas role="img"></canvas><p class="who"></p>
    <div class="actions"><button type="button" class="hold"></button><button type="button" class="release">Release</button></div>`;
  element.querySelector("h3").textContent = status.id;
  element.querySelector(".what").textContent = status.title;
  const device = { element, kind: status.kind, history: [], hold: null, status };
  const path = `devices/${encodeURIComponent(status.id)}`;
  const post = async (action) => {
    // Without an answer the hub is away, which the badge says.
    const answer = await fetch(`${path}/${action}`, { method: "POST" }).catch(() => null);
    look();
    return answer?.ok ? answer.json() : null;
  };
  const hold = element.querySelector(".hold");
  hold.textContent = `Hold for ${holdSeconds} s`;
  hold.setAttribute("aria-label", `Hold ${status.title} awake for ${holdSeconds} seconds`);
  hold.addEventListener("click", async () => {
    const mine = device.hold ? `&hold=${device.hold.id}` : "";
    const answer = await post(`hold?for=${holdSeconds}${mine}`);
    if (answer) device.hold = { id: answer.id, until: performance.now() + answer.seconds * 1000 };
    redraw();
  });
  const release = element.querySelector(".release");
  release.setAttribute("aria-label", `Release ${status.title}`);
  release.addEventListener("click", async () => {
    const mine = device.hold;
    device.hold = null;
    if (mine) await post(`release?hold=${mine.id}`);
    redraw();
  });
  $("devices").append(element);
  return device;
}

function showDevices(list, holds) {
  const now = performance.now() / 1000;
  for (const [id, device] of devices) {
    // Another board has come into service.
    if (list.some((status) => status.id === id)) continue;
    device.element.remove();
    devices.delete(id);
  }
  $("devices-empty").hidden = list.length > 0;
  set("devices-empty", "This board has no devices");
  for (const status of list) {
    if (!devices.has(status.id)) devices.set(status.id, makeDevice(status));
    const device = devices.get(status.id);
    device.status = status;
    const { element, history } = device;
    // The hub knows since when, even if this page has looked away meanwhile: but not what was before that.
    const since = now - status.forSeconds;
    const isMissed = history.length > 0 && since - seenAt > lookGapSeconds;
    if (isMissed) history.push({ power: "unknown", at: seenAt });
    if (isMissed || history.at(-1)?.power !== status.power) history.push({ power: status.power, at: since });
    while (history.length > 1 && history[1].at < now - timelineSeconds) history.shift();
    // Where it is measured, what it draws says more than how often it was on.
    const cost = status.measuredMilliwattHours > 0
      ? `${status.milliwatts.toFixed(0)} mW`
      : `${status.wakes} ${status.wakes === 1 ? "wake" : "wakes"}`;
    device.cost = `${cost} · ${energy(status.energyMilliwattHours)}`;
    const names = status.holders.map((holder) => {
      const ends = holds.filter((hold) => hold.device === status.id && hold.holder === holder).map((hold) => hold.seconds);
      return ends.length ? `${holder} (${duration(Math.max(...ends))} left)` : holder;
    });
    const more = names.length > 6 ? ` and ${names.length - 6} more` : "";
    device.who = names.length ? `Awake: ${names.slice(0, 6).join(", ")}${more}` : `Nobody holds it: ${status.reason}`;
  }
  seenAt = now;
}

/** Whether what the hub has told of its devices and fences is none of now. */
const isAwayNow = () => isUnanswered || seenAt !== null && performance.now() / 1000 - seenAt > lookLimitSeconds;

/** How the devices are, or were when the hub was last heard of: what is not known to be so looks otherwise, and cannot be used. */
function showPower() {
  const now = performance.now() / 1000;
  const isAway = isAwayNow();
  document.querySelector(".devices").classList.toggle("away", isAway);
  let isHatched = false;
  for (const { element, history, who, cost, status: { power, forSeconds, energyMilliwattHours, conditions } } of devices.values()) {
    // Of what fails again and again since the first time.
    const since = conditions?.find(({ kind }) => kind === power)?.forSeconds ?? forSeconds;
    const show = (name, text) => {
      const part = element.querySelector(name);
      if (part.textContent !== text) part.textContent = part.title = text;
    };
    show(".power", isAway ? `was ${power}` : `${power} · ${duration(since)}`);
    show(".who", isAway ? "Nobody says who holds it." : who);
    show(".cost", isAway ? energy(energyMilliwattHours) : cost);
    const look = isAway ? "power" : `power ${power}`;
    if (element.querySelector(".power").className !== look) element.querySelector(".power").className = look;
    const hold = element.querySelector(".hold");
    if (hold.disabled !== isAway) hold.disabled = isAway;
    const isPartial = now - history[0].at < timelineSeconds || history.some(({ power }) => power === "unknown");
    isHatched ||= isPartial;
    const words = `Power of the last five minutes${isPartial ? ", partly unknown" : ""}; ${isAway ? "last" : "now"} ${power}`;
    const canvas = element.querySelector("canvas");
    if (canvas.getAttribute("aria-label") !== words) canvas.setAttribute("aria-label", words);
  }
  if (isAway && seenAt !== null) {
    setAge("devices-age", now - seenAt, 0, false);
  } else {
    set("devices-age", isHatched ? "last five minutes; hatched: unknown" : "last five minutes");
    $("devices-age").className = "age";
  }
  // Links to what the hub has.
  for (const links of document.querySelectorAll(".history .take")) links.inert = isAway;
  showMore("devices");
}

/** How much of a list is below its edge. */
function showMore(id) {
  const list = $(id);
  const edge = list.getBoundingClientRect().bottom;
  // One of which there is nothing to be missed counts as seen.
  const count = [...list.children].filter((child) => child.getBoundingClientRect().bottom > edge + 16).length;
  const isLong = list.scrollHeight > list.clientHeight + 1;
  // With the keys too, also where none of its buttons can be used.
  if (isLong) list.tabIndex = 0;
  else list.removeAttribute("tabindex");
  const isCut = isLong && count > 0;
  $(`${id}-more`).hidden = !isCut;
  set(`${id}-more`, isCut ? `▾ ${count} more` : "");
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

// MARK: What needs attention

const baseTitle = document.title;
/** What is the matter with the hub itself, which is its board file. */
let hubConditions = [];
/** Whether what a fence has to say needs attention, and how much. */
const fenceSeverity = ({ state, event }) =>
  state === "outside" && event === "leave" ? "warning" : state === "unknown" && event === "lost" ? "problem" : null;

/** All that needs attention, the worst first: the hub's own words, a name, since when, what is the matter, and what to do. */
function alarms() {
  if (isAwayNow()) return [];
  const all = [];
  const told = [["board file", hubConditions], ...[...devices.values()].map(({ status }) => [status.id, status.conditions ?? []])];
  for (const [name, conditions] of told) {
    for (const { kind, severity, summary, nextStep, forSeconds } of conditions) {
      if (severity === "waiting") continue;
      all.push({ name, severity, short: `${name} ${kind}`, time: `${kind} for ${duration(forSeconds)}`, summary, nextStep });
    }
  }
  for (const [name, { status }] of fences) {
    const severity = fenceSeverity(status);
    if (severity) all.push({ name: `fence ${name}`, severity, short: `${name} ${severity === "problem" ? "blind" : "left"}`, time: sideOf(status), summary: edgeOf(status, false) });
  }
  return all.sort((one, other) => (one.severity === other.severity ? 0 : one.severity === "problem" ? -1 : 1));
}

function showBanner() {
  const all = alarms();
  $("banner").hidden = all.length === 0;
  const banner = $("banner-list");
  while (banner.children.length > all.length) banner.lastElementChild.remove();
  all.forEach(({ name, severity, time, summary, nextStep }, index) => {
    if (!banner.children[index]) {
      const element = document.createElement("li");
      element.innerHTML = `<span class="what"></span><span class="next"></span>`;
      banner.append(element);
    }
    const element = banner.children[index];
    if (element.className !== severity) element.className = severity;
    const show = (part, text) => {
      if (element.querySelector(part).textContent !== text) element.querySelector(part).textContent = text;
    };
    show(".what", `${name}: ${time}: ${summary}`);
    show(".next", nextStep ?? "");
  });
  // To those who do not see it: what is new, and not the seconds.
  set("banner-said", all.map(({ short, nextStep }) => `${short}${nextStep ? `: ${nextStep}` : ""}`).join(". "));
  const title = all.length ? `⚠ ${all[0].short} · ${baseTitle}` : baseTitle;
  if (document.title !== title) document.title = title;
  const origins = [...devices.values()].map(({ status }) => status.origin);
  const origin = origins.includes("recorded") ? "REPLAY" : origins.includes("simulated") ? "SIMULATED" : "";
  $("origin").hidden = !origin;
  set("origin", origin);
}

// MARK: Fences

// By their names: how each was when the hub was last heard of, and where that stands.
const fences = new Map();

function makeFence(name) {
  const element = document.createElement("li");
  element.className = "fence";
  element.innerHTML = `<div class="top"><h3></h3><span class="side"></span></div><p class="edge"></p><p class="next"></p>`;
  element.querySelector("h3").textContent = name;
  $("fences").append(element);
  return { element };
}

function takeFences(list) {
  for (const [name, fence] of fences) {
    if (Object.hasOwn(list, name)) continue;
    fence.element.remove();
    fences.delete(name);
  }
  const news = [];
  for (const [name, status] of Object.entries(list)) {
    if (!fences.has(name)) fences.set(name, makeFence(name));
    const fence = fences.get(name);
    if (fence.status && fence.status.state !== status.state) news.push(`fence ${name}: ${status.state}`);
    fence.status = status;
  }
  // To those who do not see it: what has changed, and not the seconds since.
  if (news.length) set("fences-said", news.join("; "));
  document.body.dataset.fences = fences.size ? "yes" : "";
}

/** A word that is the colour of how it is: who has left may have meant to, and a watch that is blind is none. */
function lookOf({ state, event }) {
  if (state === "inside") return "good";
  if (state === "outside") return event === "leave" ? "warn" : "muted";
  return event === "lost" ? "bad" : "muted";
}

function sideOf({ state, event, seconds }) {
  const time = duration(seconds);
  const since = { enter: `entered ${time} ago`, leave: `left ${time} ago`, lost: `blind for ${time}` };
  return `${state} · ${since[event] ?? `for ${time}`}`;
}

function edgeOf({ beyond, position }, isAway) {
  if (beyond === undefined) return "No fix that tells yet";
  const far = Math.abs(beyond);
  const length = far < 1000 ? `${far.toFixed(1)} m` : `${(far / 1000).toFixed(1)} km`;
  const sigma = position.sigmaHorizontal;
  const age = isAway ? "" : ` · ${duration(position.age)} ago`;
  return `${length} ${beyond > 0 ? "beyond" : "within"} the edge, ±${sigma.toFixed(sigma < 0.095 ? 2 : 1)} m${age}`;
}

function nextOf({ event, due, unknownIn }) {
  if (due > 1) return `${event ? "Next" : "First"} fix within ${duration(due)}`;
  if (due > -lateSeconds) return "Next fix now";
  if (unknownIn === undefined) return `No fix that tells, ${duration(-due)} after its time`;
  return `A fix is ${duration(-due)} late; unknown in ${duration(Math.max(0, unknownIn))}`;
}

/** How the fences are, or were: as the devices. */
function showFences() {
  const isAway = isAwayNow();
  document.querySelector(".fences").classList.toggle("away", isAway);
  for (const { element, status } of fences.values()) {
    const show = (name, text) => {
      const part = element.querySelector(name);
      if (part.textContent !== text) part.textContent = part.title = text;
    };
    show(".side", isAway ? `was ${status.state}` : sideOf(status));
    show(".edge", edgeOf(status, isAway));
    show(".next", isAway ? "Nobody says when the next fix is due." : nextOf(status));
    const isLate = !isAway && status.due <= -lateSeconds;
    element.querySelector(".next").classList.toggle("late", isLate);
    const look = isAway ? "side" : `side ${lookOf(status)}`;
    if (element.querySelector(".side").className !== look) element.querySelector(".side").className = look;
  }
  if (isAway && seenAt !== null) {
    setAge("fences-age", performance.now() / 1000 - seenAt, 0, false);
  } else {
    set("fences-age", "");
  }
  showMore("fences");
}

const circleCorners = 96;

/** The corners of a fence's area, where the map has them. */
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
 * The edges of all fences on the map's projection, which has no end in the east.
 *
 * @param last the place that they are next to
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

/** Those fences that the map shows whole: of one that is large or far away, only what comes into it. */
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
    // Where there is no edge to be seen, a tint says nothing.
    pen.globalAlpha = framed.includes(edge) ? 0.07 : 0;
    pen.fill();
    pen.globalAlpha = 1;
    // Its name where its edge is highest in the picture.
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

// MARK: What was recorded

const isRecorded = document.body.dataset.records === "yes";
// The way of the last hours, before this page was opened.
let past = [];
// Whether that has been asked for.
let isPastKnown = false;
// The changes of each device's power, the oldest first.
const lives = new Map();
let isRecalling = false;
let recalledAt = -Infinity;
// What the timeline was drawn for.
let drawnHistory = "";

// Whoever opens the list wants to see what there is now.
$("recordings").addEventListener("toggle", () => {
  if ($("recordings").open) recallSegments().catch(() => {});
});
$("recordings").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  $("recordings").open = false;
  $("segments-count").focus();
});

/** Looks at what was recorded, which wakes nothing. */
async function recall() {
  if (!isRecorded || isRecalling || document.hidden || performance.now() - recalledAt < recallMilliseconds) return;
  isRecalling = true;
  try {
    await recallPower();
    await recallSegments();
    if (!isPastKnown) await recallTrack();
    recalledAt = performance.now();
  } catch {
    // The badge says that the hub is away; it is tried again with the next look.
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
  // The board's clock and this browser's need not be one.
  let address = `history/power?from=${from.toFixed(3)}&to=${(Math.max(from, Date.now() / 1000) + 1).toFixed(3)}`;
  while (address) {
    const page = await (await read(address)).json();
    for (const { id, power, time } of page.changes) {
      const at = Date.parse(time);
      if (!lives.has(id)) lives.set(id, []);
      const changes = lives.get(id);
      // How it stood before is told with each answer.
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
  // Its end is where the page's own track is.
  past = connected([...track.slice(-1), ...way.reverse()]).slice(track.length ? 1 : 0).reverse();
  isPastKnown = true;
}

async function recallSegments() {
  const list = (await (await read("recordings")).json()).recordings.reverse();
  const size = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
  const items = list.map(({ name, from, to, bytes, writing }) => {
    const time = from ? `${from.slice(0, 10)} ${from.slice(11, 16)}–${to.slice(11, 16)}` : "empty so far";
    return { name, text: `${time} · ${size(bytes)}${writing ? " · being written" : ""}` };
  });
  set("segments-count", `Recordings (${items.length})`);
  const links = items.map(({ name, text }) => {
    // The same link as before, where there is one: it may have the focus.
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

/** What a device's power is in from one change to the next, in milliseconds since 1970, as far as the day goes. */
function pieces(id, now) {
  const changes = lives.get(id) ?? [];
  return changes.map(({ power, at }, index) => ({
    power, from: Math.max(at, now - daySeconds * 1000), to: changes[index + 1]?.at ?? now,
  })).filter(({ from, to }) => to > from);
}

const isRest = (power) => ["off", "asleep", "awake", "failed", "unknown"].includes(power);

/** A row of the timeline for each device, which says in words what its picture shows. */
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
    const minutes = (time) => new Date(time).toISOString().slice(11, 16);
    set("history-at", piece
      ? `${id}: ${piece.power} ${minutes(piece.from)}–${minutes(piece.to)} UTC`
      : `${id}: nothing known of ${minutes(at)} UTC`);
  });
  row.lastChild.addEventListener("pointerleave", () => set("history-at", "last 24 hours, UTC"));
  $("timeline").append(row);
  return row;
}

// MARK: What is replayed

const isReplayed = document.body.dataset.replay === "yes";
let replay = null;
let attending = null;
// How many looks there have been, and how many before the hub was last told something.
let looks = 0;
let outdatedLooks = 0;
let told = Promise.resolve();
let commands = 0;
// The time that is sought, in milliseconds since 1970, while an earlier one still is.
let sought = null;
let isSeeking = false;
// What is shown is of before the time that was sought.
let isSought = false;
// A thumb that somebody moves stays where it is put.
let isChoosing = false;
let placeSaidAt = -Infinity;

/** Looks at the replay as long as it is listened to. */
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
    // What was asked for before the hub was told something says how it was then.
    if (look > outdatedLooks && !commands) showReplay(status);
  } catch {
    showUnanswered();
  }
}

const controls = ["replay-play", "replay-step", "replay-rate", "replay-place"];

/** Nobody is there whom a command could reach. */
function showUnanswered() {
  set("replay-end", "no answer");
  for (const id of controls) $(id).disabled = true;
}

/** Tells the hub what to do with the replay, one thing after the other. */
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
  // At another rate it is the moments between two answers that pass, not more of the devices' time.
  setPace(status.paused || status.over ? 0 : Math.min(status.rate, 1));
  set("replay-play", status.over ? "Start again" : status.paused ? "Go on" : "Halt replay");
  set("replay-end", status.over ? "over" : status.paused ? "halted" : `to ${clock(to)} UTC`);
  const place = $("replay-place");
  // A key goes on by a second, in long recordings by more.
  place.step = Math.max(1, Math.ceil((to - from) / 600_000));
  place.max = Math.max(1, Math.ceil((to - from) / 1000 / place.step)) * place.step;
  const rate = $("replay-rate");
  if (![...rate.options].some((option) => Number(option.value) === status.rate)) {
    rate.add(new Option(`${status.rate} ×`, status.rate));
  }
  // What somebody is about to choose is left alone.
  if (isOtherRate) rate.value = String(status.rate);
  if (!isChoosing && sought === null) {
    place.value = (Date.parse(status.time) - from) / 1000;
    showPlace(Date.parse(status.time));
  }
  redraw();
}

/** A time of the replay, in milliseconds since 1970, beside the slider. */
function showPlace(milliseconds) {
  const text = new Date(milliseconds).toISOString();
  set("replay-time", `${text.slice(0, 10)} ${text.slice(11, 19)}`);
  // Said each time it changes, it would be said all the time.
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
  // Moved, and put back to where it was: that changes nothing.
  for (const event of ["pointerup", "pointercancel", "blur"]) place.addEventListener(event, () => (isChoosing = false));
}

// Milliseconds that go by as the replay's time does: ages stand still where it is halted. Elsewhere they go by as ever.
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
let drawnAt = -Infinity;

function redraw(isUrgent = false) {
  if (isRedrawAsked || document.hidden) return;
  // Whoever asks for less motion gets pictures that change now and then rather than move.
  if (calm.matches && isUrgent !== true && performance.now() - drawnAt < 1000) return;
  isRedrawAsked = true;
  requestAnimationFrame(() => {
    isRedrawAsked = false;
    drawnAt = performance.now();
    showState();
    showPower();
    showHolds();
    showFences();
    showBanner();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    drawMap(colour);
    drawHorizon(colour);
    drawSky(colour);
    for (const device of devices.values()) drawTimeline(device, colour);
    if (isRecorded) drawHistory(colour);
  });
}

/** Whether nothing is known of the way from one moment to another. */
function isGap(before, after) {
  if (!before || after.at - before.at > gapSeconds * 1000) return true;
  if (!isReplayed) return false;
  // At another rate the page's own clock tells little.
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
  if (track.length > trackPoints) thin();
}

/** Makes the older half of the track coarser: a page on a wall has the whole day. */
function thin() {
  const half = trackPoints / 2;
  track = track.filter((point, index) => index > half || index % 2 === 0 || point.isStart || track[index + 1]?.isStart);
}

const tiles = new Map();
// The last tile that was asked for did not come.
let isMapAway = false;

function drawTiles(pen, view) {
  const template = document.body.dataset.tiles;
  if (!template) return;
  const { zoom } = view;
  const level = Math.max(0, Math.min(19, Math.floor(Math.log2(zoom / 256))));
  const count = 2 ** level;
  const size = zoom / count;
  for (let x = Math.floor(view.left * count); x <= view.right * count; x++) {
    for (let y = Math.max(0, Math.floor(view.top * count)); y <= Math.min(count - 1, view.bottom * count); y++) {
      const column = ((x % count) + count) % count;
      const address = template.replace("{z}", level).replace("{x}", column).replace("{y}", y);
      if (!tiles.has(address)) {
        if (tiles.size > 200) tiles.delete(tiles.keys().next().value);
        const image = new Image();
        image.onload = () => {
          isMapAway = false;
          redraw();
        };
        image.onerror = () => {
          isMapAway = true;
          redraw();
        };
        image.src = address;
        tiles.set(address, image);
      }
      const image = tiles.get(address);
      if (image.complete && image.naturalWidth) {
        pen.drawImage(image, (x / count - view.left) * zoom, (y / count - view.top) * zoom, size, size);
      }
    }
  }
}

function drawMap(colour) {
  const { pen, width, height, letters } = prepare($("map"));
  const last = track.at(-1) ?? past.at(-1);
  const edges = fenceEdges(last);
  // A grid also before the first position: the place is there, what is in it is not known yet.
  const metre = metreAt((last ?? edges[0]?.way[0])?.lat ?? 0);
  const ways = [past, track];
  const framed = framedEdges(edges, ways, metre);
  const view = frame([...ways, ...framed.map(({ way }) => way)], width, height, metre);
  drawGrid(pen, view, width, height, colour);
  if (!last && !edges.length) return;
  drawTiles(pen, view);
  const place = placed(view);
  drawFences(pen, place, edges, framed, width, height, letters, colour);
  pen.globalAlpha = 0.4;
  pen.lineWidth = 2;
  drawLines(pen, place, past, colour);
  pen.globalAlpha = 1;
  pen.lineWidth = 3;
  drawLines(pen, place, track, colour);
  drawStarts(pen, place, colour);
  if (track.length) drawVehicle(pen, place(last), metre * view.zoom, last, colour);
  const note = isMapAway ? "; the map does not come" : "";
  drawScale(pen, view, height, letters, note, !document.body.dataset.tiles, colour);
}

/** The way in its parts: whole where there were fixes, broken where the IMU carried on, and nothing where nobody looked. */
function drawLines(pen, place, way, colour) {
  for (let index = 1; index < way.length; ) {
    const { isReckoned } = way[index];
    pen.strokeStyle = colour(isReckoned ? "warn" : "accent");
    pen.setLineDash(isReckoned ? [2, 7] : []);
    pen.beginPath();
    pen.moveTo(...place(way[index - 1]));
    for (; index < way.length && way[index].isReckoned === isReckoned; index++) {
      if (way[index].isStart) pen.moveTo(...place(way[index]));
      else pen.lineTo(...place(way[index]));
    }
    pen.stroke();
  }
  pen.setLineDash([]);
  // A fix on a schedule, between two rests of the receiver, is a part of its own: no line is drawn through it, so a dot is.
  for (const [index, point] of way.entries()) {
    if (index && !point.isStart) continue;
    if (index + 1 < way.length && !way[index + 1].isStart) continue;
    pen.fillStyle = colour(point.isReckoned ? "warn" : "accent");
    pen.beginPath();
    pen.arc(...place(point), 3, 0, 2 * Math.PI);
    pen.fill();
  }
}

/** Each part of the way begins with a ring. */
function drawStarts(pen, place, colour) {
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

function drawVehicle(pen, [x, y], metre, last, colour) {
  const isResting = document.querySelector("main").classList.contains("resting");
  const tone = colour(isResting ? "muted" : last.isReckoned ? "warn" : "accent");
  const sigma = state?.position?.sigmaHorizontal;
  if (sigma) {
    // Where it is with 95 %.
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
  const heading = state?.attitude?.yaw ?? state?.velocity?.track;
  pen.save();
  pen.translate(x, y);
  pen.fillStyle = tone;
  pen.strokeStyle = colour("card");
  pen.lineWidth = 2;
  pen.beginPath();
  if (heading === undefined) {
    pen.arc(0, 0, 7, 0, 2 * Math.PI);
  } else {
    pen.rotate((heading * Math.PI) / 180);
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

/** An artificial horizon in a compass rose. */
function drawHorizon(colour) {
  const { pen, width, height, letters } = prepare($("horizon"));
  const rose = Math.min(width, height) / 2 - 2;
  const radius = rose - letters * 1.9;
  if (radius < 10) return;
  const attitude = state?.attitude;
  const radians = Math.PI / 180;
  pen.translate(width / 2, height / 2);
  pen.textAlign = "center";
  pen.textBaseline = "middle";

  const yaw = attitude?.yaw;
  for (let degrees = 0; degrees < 360; degrees += 10) {
    pen.save();
    pen.rotate((degrees - (yaw ?? 0)) * radians);
    const name = ["N", "E", "S", "W"][degrees / 90];
    if (name && yaw !== undefined) {
      pen.fillStyle = colour(name === "N" ? "bad" : "text");
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
      if (pitch && pitch % 20 === 0) pen.fillText(`${Math.abs(pitch)}`, half + letters, -pitch * perDegree);
    }
    pen.restore();
    // The scale of the roll turns with the horizon, its pointer stands still.
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
    return pen.fillText("No attitude yet", 0, 0);
  }
  pen.fillStyle = colour("mark");
  pen.beginPath();
  pen.moveTo(0, -radius * 0.88);
  pen.lineTo(radius * 0.045, -radius * 0.79);
  pen.lineTo(-radius * 0.045, -radius * 0.79);
  pen.closePath();
  pen.fill();
  // The vehicle's own wings stand still too.
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

// GPS, SBAS, Galileo, BeiDou, IMES, QZSS, GLONASS and NavIC, by the number that gpsd gives them.
const systems = ["G", "S", "E", "C", "I", "J", "R", "I"];

function drawSky(colour) {
  const { pen, width, height, letters } = prepare($("sky"));
  const radius = Math.min(width, height) / 2 - letters * 1.4;
  if (radius < 10) return;
  const isStale = sky && !isSkyNew();
  pen.translate(width / 2, height / 2);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = colour("inset");
  pen.beginPath();
  pen.arc(0, 0, radius, 0, 2 * Math.PI);
  pen.fill();
  pen.strokeStyle = colour("line");
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
  for (const [name, x, y] of [["N", 0, -1], ["E", 1, 0], ["S", 0, 1], ["W", -1, 0]]) {
    pen.fillText(name, x * (radius + letters * 0.8), y * (radius + letters * 0.8));
  }
  const seen = satellitesOf(sky).filter(({ el, az }) => el !== undefined && az !== undefined);
  if (!seen.length) {
    const text = sky ? "No satellites in view" : "No satellites yet";
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
    // The stronger the signal, the larger; filled where it is used. What is old is neither.
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
    // Below the mark where there is no room above it.
    pen.fillText(name, x, y + (y < -radius + letters * 2 ? 1 : -1) * (size + letters * 0.7));
  }
}

/** What is not known, all over a picture: neither work nor rest. */
function hatch(pen, width, height, colour) {
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

/** A stretch of time in which a device's power was one. */
function drawPiece(pen, from, to, height, power, share, colour) {
  const width = Math.max(to - from, 1);
  pen.fillStyle = colour("inset");
  pen.fillRect(from, 0, width, height);
  pen.fillStyle = colour(powers.includes(power) ? power : "off");
  pen.fillRect(from, height * (1 - share), width, height * share);
}

function drawTimeline(device, colour) {
  const { pen, width, height } = prepare(device.element.querySelector("canvas"));
  const now = performance.now() / 1000;
  hatch(pen, width, height, colour);
  const place = (at) => width * (1 - (now - at) / timelineSeconds);
  device.history.forEach(({ power, at }, index) => {
    if (power === "unknown") return;
    // Nobody looked after the last answer: what has been since is not known.
    const to = place(device.history[index + 1]?.at ?? seenAt ?? now);
    // The devices' work is high, their rest is low: not by colour alone.
    const share = power === "off" || power === "asleep" || power === "failed" ? 0.2 : 1;
    drawPiece(pen, Math.max(0, place(at)), to, height, power, share, colour);
  });
  // A mark for each minute.
  pen.fillStyle = colour("card");
  for (let minute = 1; minute < timelineSeconds / 60; minute++) pen.fillRect(place(now - minute * 60), 0, 1, height);
}

/** The day, which a picture a minute is enough for. */
function drawHistory(colour) {
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
    const times = wakes === 1 ? "once" : `${wakes} times`;
    canvas.setAttribute("aria-label", last === null
      ? `${id}: nothing recorded in the last 24 hours`
      : `${id}: on for ${duration(onMilliseconds / 1000)} of the last 24 hours, ${times}; ${last} last`);
  }
  const { pen, width, letters } = prepare($("hours"));
  pen.fillStyle = colour("muted");
  pen.textAlign = "center";
  const hour = 3_600_000;
  const step = width < 500 ? 6 : width < 900 ? 3 : 2;
  for (let at = Math.ceil((now - 24 * hour) / hour) * hour; at < now; at += hour) {
    const name = new Date(at).getUTCHours();
    const x = width * (1 - (now - at) / daySeconds / 1000);
    if (name % step || x < letters * 1.5 || x > width - letters * 1.5) continue;
    pen.fillText(`${String(name).padStart(2, "0")}:00`, x, letters);
  }
}

const credit = $("credit");
if (credit.textContent === "© OpenStreetMap contributors") {
  credit.innerHTML = `© <a href="https://www.openstreetmap.org/copyright" rel="noopener">OpenStreetMap</a> contributors`;
}
present();
// Ages grow by themselves.
setInterval(redraw, 500);
if (isRecorded) setInterval(recall, 5000);
