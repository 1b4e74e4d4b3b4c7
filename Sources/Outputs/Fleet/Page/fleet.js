// The page of a fleet. It reads the hubs' retained messages at the broker, which wakes no hub. An event stream names the hubs that
// are open on the page, and keeps them awake as long as the page is visible.

import { beside, drawGrid, drawScale, frame, gathered, mercator, metreAt, placed, prepare } from "./map.js";

const $ = (id) => document.getElementById(id);
const lookMilliseconds = 2000;
// A lost connection would otherwise be noticed only after minutes.
const lookLimitMilliseconds = 10_000;
// The page requests one state a second. A hub without a state for this time counts as silent.
const staleSeconds = 5;
const mostOpen = 16;
const trackPoints = 4000;
// From this number of hubs on, the page has a filter for names.
const filterFrom = 8;
// With more hubs, the names on the map would cover each other.
const mostNames = 60;

const hubs = new Map();
let news = null;
let poll = null;
// The present stream last. A stream that is replaced stays open until the next one is open.
const streams = [];
let isAnswered = null;
let obstacle = null;
let showsAll = false;

// MARK: Retained messages

function observe() {
  if (poll || document.hidden) return;
  poll = setInterval(look, lookMilliseconds);
  look();
}

let isLooking = false;

async function look() {
  if (isLooking) return;
  isLooking = true;
  try {
    const answer = await fetch(news ? `fleet?since=${news}` : "fleet", { cache: "no-store", signal: AbortSignal.timeout(lookLimitMilliseconds) });
    if (!answer.ok) throw new Error(`fleet: ${answer.status}`);
    take(await answer.json());
    isAnswered = true;
  } catch {
    // The next request shows whether the server is back.
    isAnswered = false;
  }
  isLooking = false;
  redraw();
}

function take(fleet) {
  const told = new Map(fleet.hubs.map((report) => [report.hub, report]));
  // A server that has just started and has not reached the broker yet has no hubs. Open hubs must stay open.
  const isWhole = fleet.whole && !fleet.obstacle;
  if (isWhole) for (const name of [...hubs.keys()]) if (!told.has(name)) forget(name);
  for (const [name, report] of told) {
    if (report.status === "gone") forget(name);
    else (hubs.get(name) ?? make(name)).report = report;
  }
  news = fleet.whole && !isWhole ? null : fleet.news;
  obstacle = fleet.obstacle ?? null;
}

function forget(name) {
  const hub = hubs.get(name);
  if (!hub) return;
  if (hub.isOpen) toggle(hub);
  hub.element.remove();
  hubs.delete(name);
}

// MARK: Opening

/** Opens a stream for the open hubs. The old stream is closed only when the new one is open, so that no hub sleeps in between. */
function listen() {
  const open = document.hidden ? [] : [...hubs.values()].filter((hub) => hub.isOpen).map((hub) => hub.name);
  const address = open.length ? `events?hubs=${open.map(encodeURIComponent).join()}` : null;
  const newest = streams.at(-1);
  if (newest?.address === address && newest.source.readyState !== EventSource.CLOSED) return;
  if (!address) return closeStreams();
  const source = new EventSource(address);
  streams.push({ address, source });
  source.onopen = () => closeStreams(source);
  source.onmessage = (event) => {
    const { hub: name, state, age, obstacle } = JSON.parse(event.data);
    const hub = hubs.get(name);
    if (!hub?.isOpen) return;
    hub.obstacle = obstacle ?? null;
    if (state) {
      hub.state = state;
      hub.stateAt = performance.now() - 1000 * age;
      hub.stateDate = Date.now() - 1000 * age;
      follow(hub, state);
    }
    redraw();
  };
  source.onerror = () => {
    closeStreams(source);
    // The browser tries again by itself, unless the server refused the request.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => streams.at(-1)?.source === source && listen(), 5000);
    redraw();
  };
}

/** Closes the streams before this one, or all streams. */
function closeStreams(kept) {
  const index = streams.findIndex(({ source }) => source === kept);
  for (const { source } of streams.splice(0, index < 0 ? streams.length : index)) source.close();
}

function toggle(hub) {
  const open = [...hubs.values()].filter((one) => one.isOpen);
  if (!hub.isOpen && open.length >= mostOpen) return;
  hub.isOpen = !hub.isOpen;
  hub.state = hub.obstacle = null;
  hub.track = [];
  if (open.length === 0) showsAll = false;
  listen();
  redraw(true);
}

function follow(hub, { position, mode }) {
  if (!position || mode === "none" || mode === "asleep") return;
  const last = hub.track.at(-1);
  const point = beside(mercator(position), last);
  if (last && Math.hypot(point.x - last.x, point.y - last.y) < 0.5 * metreAt(position.lat)) return;
  hub.track.push(point);
  if (hub.track.length > trackPoints) hub.track.shift();
}

function present() {
  if (document.hidden) {
    clearInterval(poll);
    poll = null;
  } else {
    observe();
  }
  listen();
  redraw(true);
}

document.addEventListener("visibilitychange", present);
addEventListener("pagehide", () => {
  closeStreams();
});
addEventListener("pageshow", present);
addEventListener("resize", () => redraw(true));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw(true));
$("filter").addEventListener("input", () => redraw(true));
$("extent").addEventListener("click", () => {
  showsAll = !showsAll;
  redraw(true);
});

// MARK: Text

const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const fixed = (value, decimals, unit = "") => (number(value) === undefined ? "–" : `${value.toFixed(decimals)}${unit}`);
const bearing = (value) => (number(value) === undefined ? "–" : `${String(Math.round(value) % 360).padStart(3, "0")}°`);
const hemisphere = (value, names) => `${Math.abs(value).toFixed(6)}° ${value < 0 ? names[1] : names[0]}`;

function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds / 60) % 60)).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds / 3600) % 24)} h`;
}

// The format is that of `sensorhub devices`.
function energy(milliwattHours) {
  if (milliwattHours < 1) return `${milliwattHours.toFixed(3)} mWh`;
  return milliwattHours < 1000 ? `${milliwattHours.toPrecision(3)} mWh` : `${(milliwattHours / 1000).toFixed(1)} Wh`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// MARK: A hub

/** The clock of the page may stand still while this computer sleeps, and the date may be set. */
const secondsSinceState = (hub) => Math.max(performance.now() - hub.stateAt, Date.now() - hub.stateDate) / 1000;

/** The hub's last known position and its age in seconds; `null` if no position is known. */
function whereabouts(hub) {
  // Until the hub has sent a position, the retained one is used.
  const isLive = hub.state?.position !== undefined;
  const state = isLive ? hub.state : hub.report.last;
  const { lat, lon, age } = state?.position ?? {};
  if (number(lat) === undefined || number(lon) === undefined || Math.abs(lat) > 90 || Math.abs(lon) > 180) return null;
  const said = typeof state.said === "string" ? Date.parse(state.said) : NaN;
  const since = isLive ? secondsSinceState(hub) : (Date.now() - said) / 1000;
  return { lat, lon, seconds: Math.max(0, (number(age) ?? 0) + (number(since) ?? 0)) };
}

const title = document.title;
const order = new Intl.Collator("en", { numeric: true });

const devicesOf = (hub) => hub.report.devices?.devices ?? [];

/** The condition of a hub. The word is also its CSS class. */
function condition(hub) {
  if (hub.report.status !== "online") return "offline";
  if (hub.isOpen) return hub.state && secondsSinceState(hub) < staleSeconds ? "live" : "waking";
  return devicesOf(hub).some(({ power }) => power !== "off" && power !== "asleep") ? "awake" : "asleep";
}

const fencesOf = (hub) => Object.entries(hub.report.fences?.fences ?? {});

/** The alarms of a hub's fences. The last report of an offline hub still counts. */
function fenceTroubles(hub) {
  return fencesOf(hub).flatMap(([name, { state, event, beyond }]) => {
    if (state === "outside" && event === "leave") {
      return [`fence ${name}: left${number(beyond) === undefined ? "" : `, ${fixed(Math.max(0, beyond), 0, " m")} beyond the edge`}`];
    }
    return event === "lost" ? [`fence ${name}: no fix that shows on which side of the edge the hub is`] : [];
  });
}

/** The problems of a hub's fences and devices, in the hub's words. */
function troubles(hub) {
  const fences = fenceTroubles(hub);
  if (hub.report.status !== "online") return fences;
  return fences.concat(devicesOf(hub).flatMap(({ id, conditions }) =>
    (Array.isArray(conditions) ? conditions : []).filter(({ severity }) => severity !== "waiting")
      .map(({ kind, summary, nextStep }) => `${id} ${kind}: ${summary}${nextStep ? `; ${nextStep}` : ""}`)));
}

/** The address of the hub's own page; `null` if it is unknown, or unsafe as a link. */
function pageOf(hub) {
  const { page } = hub.report.health ?? {};
  if (hub.report.status !== "online" || typeof page !== "string") return null;
  try {
    const address = new URL(page);
    return address.protocol === "http:" || address.protocol === "https:" ? address.href : null;
  } catch {
    return null;
  }
}

/** A mark in capitals for values that were not measured now: `REPLAY` or `SIMULATED`. */
function originOf(hub) {
  const origins = devicesOf(hub).map(({ origin }) => origin);
  return origins.includes("recorded") ? "REPLAY" : origins.includes("simulated") ? "SIMULATED" : "";
}

/** The clients for which a hub's devices are awake, as a sentence. */
function company(hub) {
  if (hub.report.status !== "online") return "Not connected to the broker. When it reconnects, it wakes if a client has it open.";
  const holders = new Set(devicesOf(hub).flatMap((device) => device.holders).map(String));
  if (!holders.size) return "No client keeps it awake.";
  const names = [...holders].slice(0, 3).join(", ");
  return `Awake for ${names}${holders.size > 3 ? ` and ${holders.size - 3} more` : ""}.`;
}

function make(name) {
  const element = document.createElement("li");
  element.className = "device hub";
  element.innerHTML = `<div class="top"><h3></h3><span class="origin" hidden></span><span class="power"></span></div><p class="where"></p>
    <p class="fences" hidden></p>
    <dl class="row" hidden><div><dt>Speed</dt><dd class="speed"></dd></div><div><dt>Course</dt><dd class="course"></dd></div>
    <div><dt>Accuracy, 1σ</dt><dd class="sigma"></dd></div></dl><p class="obstacle" hidden></p><p class="trouble" hidden></p>
    <div class="actions"><p class="who"></p><a class="page" target="_blank" rel="noopener noreferrer" hidden>Its page</a>
    <button type="button"></button></div>`;
  element.querySelector("h3").textContent = name;
  const hub = { name, element, report: {}, isOpen: false, state: null, stateAt: 0, obstacle: null, track: [] };
  // The name can be clicked too. The button works with any input device.
  for (const part of ["h3", "button"]) element.querySelector(part).addEventListener("click", () => toggle(hub));
  hubs.set(name, hub);
  // The list is sorted by name, with boat-2 before boat-10.
  const next = [...hubs.keys()].sort(order.compare).find((other) => order.compare(other, name) > 0);
  $("hubs").insertBefore(element, next ? hubs.get(next).element : null);
  return hub;
}

function showHub(hub) {
  const show = (name, text) => set(hub.element.querySelector(name), text);
  const word = condition(hub);
  show(".power", word);
  hub.element.querySelector(".power").className = `power ${word}`;
  const place = whereabouts(hub);
  const milliwattHours = devicesOf(hub).reduce((sum, device) => sum + (number(device.energyMilliwattHours) ?? 0), 0);
  const when = place && (word === "live" && place.seconds < staleSeconds ? "now" : `${duration(place.seconds)} ago`);
  show(".where", place ? `${hemisphere(place.lat, "NS")}  ${hemisphere(place.lon, "EW")} · ${when}` : "No position known");
  const fences = fencesOf(hub).map(([fence, { state }]) => `${fence} ${state}`);
  hub.element.querySelector(".fences").hidden = !fences.length;
  show(".fences", `Fences: ${fences.join(", ")}`);
  const link = hub.element.querySelector(".page");
  const page = pageOf(hub);
  link.hidden = !page;
  if (page && link.getAttribute("href") !== page) link.href = page;
  link.setAttribute("aria-label", `The page of ${hub.name} itself`);
  const { velocity, position } = hub.state ?? {};
  hub.element.querySelector("dl").hidden = !hub.isOpen;
  show(".speed", fixed(velocity?.speed, 1, " m/s"));
  show(".course", bearing(velocity?.track));
  show(".sigma", position ? `±${fixed(position.sigmaHorizontal, 1, " m")}` : "–");
  hub.element.querySelector(".obstacle").hidden = !hub.obstacle;
  show(".obstacle", hub.obstacle ?? "");
  const trouble = troubles(hub);
  hub.element.querySelector(".trouble").hidden = !trouble.length;
  show(".trouble", trouble.join("\n"));
  const origin = originOf(hub);
  hub.element.querySelector(".origin").hidden = !origin;
  show(".origin", origin);
  show(".who", `${company(hub)} Energy used: ${energy(milliwattHours)}.`);
  const button = hub.element.querySelector("button");
  set(button, hub.isOpen ? "Close" : "Open");
  button.setAttribute("aria-expanded", hub.isOpen);
  button.setAttribute("aria-label", hub.isOpen ? `Close ${hub.name} and let it sleep` : `Open ${hub.name} and wake it`);
}

function showFleet() {
  const all = [...hubs.values()];
  const words = all.map(condition);
  const count = (...names) => words.filter((word) => names.includes(word)).length;
  const filter = $("filter").value.trim().toLowerCase();
  $("filter").hidden = all.length < filterFrom;
  for (const hub of all) {
    hub.element.hidden = !$("filter").hidden && !hub.name.toLowerCase().includes(filter);
    if (!hub.element.hidden) showHub(hub);
  }
  $("hubs-empty").hidden = all.length > 0;
  set($("hubs-empty"), isAnswered && !obstacle ? "No hub has joined this broker" : "No hubs known yet");
  const troubled = all.filter((hub) => troubles(hub).length).length;
  set($("count"), `${all.length} · ${count("asleep")} asleep · ${count("awake", "live", "waking")} awake · ${count("offline")} offline`
    + (troubled ? ` · ${troubled} in trouble` : ""));
  const left = all.flatMap((hub) => fenceTroubles(hub).map((text) => `${hub.name}: ${text}`));
  document.title = left.length ? `! ${left[0]} · SensorHub` : title;
  const isOpen = all.some((hub) => hub.isOpen);
  const { word, look, note } =
    isAnswered === null ? { word: "connecting", look: "", note: "" }
    : !isAnswered ? { word: "no answer", look: "bad", note: "The server of this page does not answer; the page keeps trying." }
    : obstacle ? { word: "no broker", look: "bad", note: `The broker cannot be reached: ${obstacle}` }
    : isOpen ? { word: "watching", look: "good", note: "The hubs that are open here stay awake for this page." }
    : { word: "asleep", look: "", note: "No hub is open here, so this page keeps none awake." };
  set($("mode"), word);
  $("badge").className = `badge ${look}`;
  set($("note"), note);
  set($("utc"), new Date().toISOString().slice(11, 19));
  document.querySelector("main").classList.toggle("resting", !isAnswered || obstacle !== null);
}

// MARK: The map

/** The points at which the hubs were drawn, for clicks on the map. */
let marks = [];

const tones = { live: "tracking", waking: "acquiring", awake: "lingering", asleep: "accent", offline: "off" };

function drawMap(colour) {
  const { pen, width, height, letters } = prepare($("map"));
  const known = [...hubs.values()].flatMap((hub) => {
    const place = whereabouts(hub);
    return place ? [{ hub, lat: place.lat, ...mercator(place) }] : [];
  });
  const isPartial = !showsAll && known.some(({ hub }) => hub.isOpen);
  const shown = gathered(known.filter(({ hub }) => hub.isOpen || !isPartial));
  const places = known.map((point) => shown.find(({ hub }) => hub === point.hub) ?? beside(point, shown[0]));
  const open = places.filter(({ hub }) => hub.isOpen);
  const tracks = open.map(({ hub: { track }, x }) => {
    const turns = Math.round((track.at(-1)?.x ?? x) - x);
    return track.map((point) => ({ x: point.x - turns, y: point.y }));
  });
  $("extent").hidden = open.length === 0 || open.length === places.length;
  set($("extent"), showsAll ? "Show what is open" : "Show all");
  const view = frame([shown, ...tracks], width, height, metreAt(shown[0]?.lat ?? 0));
  drawGrid(pen, view, width, height, colour);
  $("map-empty").hidden = places.length > 0;
  const words = places.length ? `Map: ${places.length} hubs, ${open.length} of them open` : "Map: no position yet";
  if ($("map").getAttribute("aria-label") !== words) $("map").setAttribute("aria-label", words);
  marks = [];
  if (!places.length) return;
  const place = placed(view);
  pen.lineWidth = 3;
  pen.strokeStyle = colour("accent");
  for (const track of tracks) {
    pen.beginPath();
    for (const point of track) pen.lineTo(...place(point));
    pen.stroke();
  }
  pen.lineWidth = 2;
  pen.strokeStyle = colour("card");
  const isNamed = places.length <= mostNames;
  for (const point of places) {
    const [x, y] = place(point);
    if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
    marks.push({ hub: point.hub, x, y });
    pen.fillStyle = colour(fenceTroubles(point.hub).length ? "bad" : tones[condition(point.hub)]);
    pen.beginPath();
    pen.arc(x, y, point.hub.isOpen ? 9 : 6, 0, 2 * Math.PI);
    pen.stroke();
    pen.fill();
    if (!isNamed && !point.hub.isOpen) continue;
    // The name is on the side of the mark that keeps it inside the map.
    const isLeft = x + 14 + pen.measureText(point.hub.name).width > width;
    pen.textAlign = isLeft ? "right" : "left";
    pen.textBaseline = "middle";
    pen.fillStyle = colour("text");
    pen.fillText(point.hub.name, x + (isLeft ? -14 : 14), y);
  }
  pen.textAlign = "left";
  pen.textBaseline = "alphabetic";
  drawScale(pen, view, height, letters, "", true, colour);
}

/** A click on the map opens or closes a hub. The list offers the same without a pointer. */
$("map").addEventListener("click", ({ offsetX, offsetY }) => {
  const distance = ({ x, y }) => Math.hypot(x - offsetX, y - offsetY);
  const nearest = marks.toSorted((one, other) => distance(one) - distance(other))[0];
  if (!nearest || distance(nearest) > 24) return;
  toggle(nearest.hub);
  nearest.hub.element.scrollIntoView({ block: "nearest" });
});

let isRedrawAsked = false;
let drawnAt = -Infinity;

/** Draws the page soon, at most twice a second unless the user has acted. */
function redraw(isUrgent = false) {
  if (isRedrawAsked || document.hidden || (!isUrgent && performance.now() - drawnAt < 450)) return;
  isRedrawAsked = true;
  requestAnimationFrame(() => {
    isRedrawAsked = false;
    drawnAt = performance.now();
    showFleet();
    const style = getComputedStyle(document.documentElement);
    drawMap((name) => style.getPropertyValue(`--${name}`).trim());
  });
}

present();
// Ages grow without events.
setInterval(redraw, 1000);
