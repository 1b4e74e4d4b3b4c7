// The dashboard. An open event stream is a subscription and keeps the devices awake, so there is one only while somebody
// can see the page and has not paused it. The list of devices is only looked at, which wakes nothing.

const $ = (id) => document.getElementById(id);
const rateHz = 10;
const staleSeconds = 2;
const timelineSeconds = 300;
const trackPoints = 5000;
// What it takes a screen reader to say the last description.
const describeMilliseconds = 5000;
const powers = ["off", "settling", "acquiring", "tracking", "lingering", "failed"];

let stream = null;
let poll = null;
let paused = false;
let state = null;
let stateAt = 0;
let satellites = [];
const track = [];
const devices = new Map();

// MARK: Subscribing

function listen() {
  if (stream || paused || document.hidden) return;
  stream = new EventSource(`events?rate=${rateHz}`);
  stream.onmessage = (event) => {
    state = JSON.parse(event.data);
    stateAt = performance.now();
    const { position } = state;
    if (position && state.mode !== "none") follow(position);
    redraw();
  };
  stream.addEventListener("sky", (event) => {
    satellites = JSON.parse(event.data).satellites ?? [];
    redraw();
  });
  stream.onerror = () => {
    // The browser tries again by itself, unless it was told to stay away.
    if (stream?.readyState !== EventSource.CLOSED) return redraw();
    stopListening();
    setTimeout(listen, 5000);
  };
}

function stopListening() {
  stream?.close();
  stream = null;
  redraw();
}

function observe() {
  if (poll || document.hidden) return;
  poll = setInterval(look, 1000);
  look();
}

async function look() {
  try {
    const answer = await fetch("devices", { cache: "no-store" });
    if (answer.ok) showDevices((await answer.json()).devices);
  } catch {
    // The badge says that the hub is away; the next look finds out whether it is back.
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
  }
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").textContent = paused ? "Resume" : "Pause";
  $("pause").setAttribute("aria-pressed", paused);
  $("note").textContent = paused
    ? "Paused: this page keeps nothing awake."
    : "Looking at this page wakes the devices. Pause it, hide it or close it, and they may sleep.";
  if (paused) stopListening();
  else listen();
});
document.addEventListener("visibilitychange", present);
addEventListener("pagehide", stopListening);
addEventListener("pageshow", present);
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// MARK: Text

const fixed = (value, decimals, unit = "") => (value === undefined ? "–" : `${value.toFixed(decimals)}${unit}`);
const signed = (value) => (value === undefined ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}°`);
const bearing = (value) => (value === undefined ? "–" : `${String(Math.round(value) % 360).padStart(3, "0")}°`);
const hemisphere = (value, names) =>
  value === undefined ? "–" : `${Math.abs(value).toFixed(6)}° ${value < 0 ? names[1] : names[0]}`;

function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds / 60) % 60)} min`;
}

function set(id, text) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
}

function setAge(id, part, since) {
  if (!part) return set(id, "–");
  const age = part.age + since;
  set(id, age > staleSeconds ? `${duration(age)}, stale` : `${age.toFixed(1)} s`);
  $(id).classList.toggle("stale", age > staleSeconds);
}

let describedAt = -Infinity;

function showState() {
  const since = (performance.now() - stateAt) / 1000;
  const { position, velocity, attitude, fix } = state ?? {};
  const age = position ? position.age + since : undefined;
  const words = { none: "no fix", attitude: "attitude only", gnss: "GNSS", fused: "fused", deadReckoning: "dead reckoning" };
  let text = words[state?.mode] ?? state?.mode ?? "connecting";
  let look = state?.mode === "fused" ? "fused" : "";
  if (state?.mode === "deadReckoning") [text, look] = [`dead reckoning for ${duration(state.deadReckoningSeconds)}`, "stale"];
  if (stream && stream.readyState !== EventSource.OPEN) [text, look] = [state ? "reconnecting" : "connecting", "lost"];
  else if (stream && since > staleSeconds && state) [text, look] = ["no new state", "lost"];
  if (!stream) [text, look] = [paused ? "paused" : "connecting", ""];
  // Reckoning counts on; a screen reader should not.
  if ($("mode").dataset.look !== look + state?.mode + paused || look !== "stale") set("mode", text);
  $("mode").dataset.look = look + state?.mode + paused;
  $("mode").className = `badge ${look}`;
  document.querySelector("main").classList.toggle("asleep", !stream);
  set("lat", hemisphere(position?.lat, "NS"));
  set("lon", hemisphere(position?.lon, "EW"));
  set("sigma", position?.sigmaHorizontal === undefined ? "–" : `±${position.sigmaHorizontal.toFixed(1)} m`);
  set("height", fixed(position?.altMSL ?? position?.altHAE, 1, " m"));
  set("speed", fixed(velocity?.speed, 1, " m/s"));
  set("track", bearing(velocity?.track));
  set("used", fix?.satellites === undefined ? "–" : String(fix.satellites));
  set("roll", signed(attitude?.roll));
  set("pitch", signed(attitude?.pitch));
  set("yaw", bearing(attitude?.yaw));
  setAge("position-age", position, since);
  setAge("attitude-age", attitude, since);
  if (performance.now() - describedAt < describeMilliseconds) return;
  describedAt = performance.now();
  const where = position ? `${$("lat").textContent}, ${$("lon").textContent}` : "no position yet";
  $("map").setAttribute("aria-label", `Track: ${where}${age > staleSeconds ? ", stale" : ""}`);
  const pose = `roll ${$("roll").textContent}, pitch ${$("pitch").textContent}, heading ${$("yaw").textContent}`;
  $("horizon").setAttribute("aria-label", attitude ? `Horizon: ${pose}` : "Horizon: no attitude yet");
  const used = satellites.filter((satellite) => satellite.used).length;
  $("sky").setAttribute(
    "aria-label",
    satellites.length ? `Sky: ${satellites.length} satellites in view, ${used} used` : "Sky: no satellites yet");
}

// MARK: Devices

function makeDevice(status) {
  const element = document.createElement("div");
  element.className = "device";
  element.innerHTML = `<div class="facts"><h3></h3><span class="power"></span><span class="cost"></span>
    <button type="button"></button></div><p class="who"></p><canvas role="img"></canvas>`;
  element.querySelector("h3").textContent = status.title;
  const button = element.querySelector("button");
  button.addEventListener("click", async () => {
    const isHeld = button.dataset.held === "true";
    const action = isHeld ? "release" : "hold?for=60";
    // Without an answer the hub is away, which the badge says.
    await fetch(`devices/${encodeURIComponent(status.id)}/${action}`, { method: "POST" }).catch(() => {});
    look();
  });
  $("devices").append(element);
  return { element, button, history: [] };
}

function showDevices(list) {
  const now = performance.now() / 1000;
  for (const [id, device] of devices) {
    // Another board has come into service.
    if (list.some((status) => status.id === id)) continue;
    device.element.remove();
    devices.delete(id);
  }
  for (const status of list) {
    if (!devices.has(status.id)) devices.set(status.id, makeDevice(status));
    const device = devices.get(status.id);
    const { element, history } = device;
    device.seenAt = now;
    if (history.at(-1)?.power !== status.power) {
      // The hub knows since when, even if this page has looked away meanwhile.
      history.push({ power: status.power, at: now - status.forSeconds });
    }
    while (history.length > 1 && history[1].at < now - timelineSeconds) history.shift();
    const power = element.querySelector(".power");
    power.className = `power ${status.power}`;
    power.textContent = `${status.power} for ${duration(status.forSeconds)}`;
    element.querySelector(".cost").textContent =
      `on for ${duration(status.onSeconds)} in ${status.wakes} ${status.wakes === 1 ? "wake" : "wakes"}, ` +
      `${(status.energyMilliwattHours * 3.6).toFixed(2)} J`;
    element.querySelector(".who").textContent = status.holders.length
      ? `Held by ${status.holders.slice(0, 8).join(", ")}${status.holders.length > 8 ? ` and ${status.holders.length - 8} more` : ""}`
      : `Nobody holds it: ${status.reason}`;
    const isHeld = status.holders.some((holder) => holder.startsWith("held for "));
    device.button.dataset.held = isHeld;
    device.button.textContent = isHeld ? "Release" : "Hold for 60 s";
    device.button.setAttribute("aria-label", `${device.button.textContent}: ${status.title}`);
    element.querySelector("canvas").setAttribute("aria-label", `Power of the last five minutes; now ${status.power}`);
  }
}

// MARK: Drawing

let isRedrawAsked = false;

function redraw() {
  if (isRedrawAsked || document.hidden) return;
  isRedrawAsked = true;
  requestAnimationFrame(() => {
    isRedrawAsked = false;
    showState();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    drawMap(colour);
    drawHorizon(colour);
    drawSky(colour);
    for (const device of devices.values()) drawTimeline(device, colour);
  });
}

/// A canvas at the screen's own resolution; returns its context and its size in CSS pixels.
function prepare(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  return { pen, width, height };
}

// Web Mercator, the whole world from 0 to 1: the projection of map tiles.
function mercator({ lat, lon }) {
  const sine = Math.sin((Math.min(Math.max(lat, -85), 85) * Math.PI) / 180);
  return { x: lon / 360 + 0.5, y: 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI) };
}

function follow(position) {
  const point = { ...mercator(position), lat: position.lat };
  const last = track.at(-1);
  const metre = 1 / (40_075_017 * Math.cos((position.lat * Math.PI) / 180));
  if (last && Math.hypot(point.x - last.x, point.y - last.y) < 0.5 * metre) return;
  track.push(point);
  if (track.length > trackPoints) track.splice(0, track.length - trackPoints);
}

const tiles = new Map();

function drawTiles(pen, view, zoom) {
  const template = document.body.dataset.tiles;
  if (!template) return;
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
        image.onload = redraw;
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
  const { pen, width, height } = prepare($("map"));
  pen.fillStyle = colour("page");
  pen.fillRect(0, 0, width, height);
  const last = track.at(-1);
  if (!last) return;
  const metre = 1 / (40_075_017 * Math.cos((last.lat * Math.PI) / 180));
  const xs = track.map((point) => point.x);
  const ys = track.map((point) => point.y);
  const bounds = xs.reduce(
    (box, x, i) => ({ left: Math.min(box.left, x), right: Math.max(box.right, x), top: Math.min(box.top, ys[i]), bottom: Math.max(box.bottom, ys[i]) }),
    { left: last.x, right: last.x, top: last.y, bottom: last.y });
  const span = (low, high) => Math.max(high - low, 60 * metre);
  const zoom = 0.85 * Math.min(width / span(bounds.left, bounds.right), height / span(bounds.top, bounds.bottom));
  const view = {
    left: (bounds.left + bounds.right) / 2 - width / 2 / zoom,
    top: (bounds.top + bounds.bottom) / 2 - height / 2 / zoom,
  };
  view.right = view.left + width / zoom;
  view.bottom = view.top + height / zoom;
  drawTiles(pen, view, zoom);
  const place = (point) => [(point.x - view.left) * zoom, (point.y - view.top) * zoom];
  pen.strokeStyle = colour("accent");
  pen.lineWidth = 2;
  pen.beginPath();
  track.forEach((point, index) => (index ? pen.lineTo(...place(point)) : pen.moveTo(...place(point))));
  pen.stroke();
  const [x, y] = place(last);
  const sigma = state?.position?.sigmaHorizontal;
  if (sigma) {
    pen.globalAlpha = 0.25;
    pen.fillStyle = colour("accent");
    pen.beginPath();
    pen.arc(x, y, Math.max(sigma * metre * zoom, 1), 0, 2 * Math.PI);
    pen.fill();
    pen.globalAlpha = 1;
  }
  const heading = state?.attitude?.yaw ?? state?.velocity?.track;
  pen.save();
  pen.translate(x, y);
  pen.fillStyle = colour("accent");
  pen.beginPath();
  if (heading === undefined) {
    pen.arc(0, 0, 5, 0, 2 * Math.PI);
  } else {
    pen.rotate((heading * Math.PI) / 180);
    pen.moveTo(0, -10);
    pen.lineTo(6, 8);
    pen.lineTo(0, 4);
    pen.lineTo(-6, 8);
    pen.closePath();
  }
  pen.fill();
  pen.restore();
  // A bar of a round length, at most a third of the map.
  const longest = width / 3 / zoom / metre;
  const power = 10 ** Math.floor(Math.log10(longest));
  const length = [5, 2, 1].map((digit) => digit * power).find((value) => value <= longest) ?? power;
  pen.fillStyle = colour("text");
  pen.fillRect(12, height - 14, length * metre * zoom, 3);
  pen.fillText(length < 1000 ? `${length} m` : `${length / 1000} km`, 12, height - 20);
}

function drawHorizon(colour) {
  const { pen, width, height } = prepare($("horizon"));
  const radius = Math.min(width, height) / 2 - 4;
  const attitude = state?.attitude;
  pen.translate(width / 2, height / 2);
  pen.save();
  pen.beginPath();
  pen.arc(0, 0, radius, 0, 2 * Math.PI);
  pen.clip();
  pen.fillStyle = colour("off");
  pen.fillRect(-radius, -radius, 2 * radius, 2 * radius);
  if (attitude) {
    const perDegree = radius / 45;
    pen.rotate((-attitude.roll * Math.PI) / 180);
    pen.translate(0, attitude.pitch * perDegree);
    pen.fillStyle = colour("sky");
    pen.fillRect(-3 * radius, -6 * radius, 6 * radius, 6 * radius);
    pen.fillStyle = colour("ground");
    pen.fillRect(-3 * radius, 0, 6 * radius, 6 * radius);
    pen.strokeStyle = pen.fillStyle = colour("mark");
    pen.lineWidth = 1.5;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    for (let pitch = -60; pitch <= 60; pitch += 10) {
      const half = pitch === 0 ? 3 * radius : radius * (pitch % 20 ? 0.15 : 0.3);
      pen.beginPath();
      pen.moveTo(-half, -pitch * perDegree);
      pen.lineTo(half, -pitch * perDegree);
      pen.stroke();
      if (pitch && pitch % 20 === 0) pen.fillText(`${Math.abs(pitch)}`, half + 4, -pitch * perDegree);
    }
  }
  pen.restore();
  // The vehicle's own wings stand still.
  pen.strokeStyle = colour("mark");
  pen.lineWidth = 3;
  pen.beginPath();
  pen.moveTo(-radius * 0.5, 0);
  pen.lineTo(-radius * 0.15, 0);
  pen.lineTo(0, radius * 0.1);
  pen.lineTo(radius * 0.15, 0);
  pen.lineTo(radius * 0.5, 0);
  pen.stroke();
}

function drawSky(colour) {
  const { pen, width, height } = prepare($("sky"));
  const radius = Math.min(width, height) / 2 - 16;
  pen.translate(width / 2, height / 2);
  pen.strokeStyle = colour("line");
  pen.fillStyle = colour("muted");
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const elevation of [0, 30, 60]) {
    pen.beginPath();
    pen.arc(0, 0, (radius * (90 - elevation)) / 90, 0, 2 * Math.PI);
    pen.stroke();
  }
  for (const [name, x, y] of [["N", 0, -1], ["E", 1, 0], ["S", 0, 1], ["W", -1, 0]]) {
    pen.fillText(name, x * (radius + 9), y * (radius + 9));
  }
  for (const satellite of satellites) {
    if (satellite.el === undefined || satellite.az === undefined) continue;
    const distance = (radius * (90 - satellite.el)) / 90;
    const angle = (satellite.az * Math.PI) / 180;
    const [x, y] = [distance * Math.sin(angle), -distance * Math.cos(angle)];
    pen.fillStyle = satellite.used ? colour("tracking") : colour("off");
    pen.beginPath();
    // The stronger the signal, the larger.
    pen.arc(x, y, 4 + Math.min(satellite.ss ?? 0, 50) / 10, 0, 2 * Math.PI);
    pen.fill();
    pen.fillStyle = colour("text");
    pen.fillText(satellite.PRN, x, y - 14);
  }
}

function drawTimeline(device, colour) {
  const { pen, width, height } = prepare(device.element.querySelector("canvas"));
  const now = performance.now() / 1000;
  pen.fillStyle = colour("page");
  pen.fillRect(0, 0, width, height);
  const place = (at) => width * (1 - (now - at) / timelineSeconds);
  // Nobody looked after the last answer: what has been since is not known.
  const seenAt = device.seenAt ?? now;
  device.history.forEach(({ power, at }, index) => {
    const from = Math.max(0, place(at));
    const to = place(device.history[index + 1]?.at ?? seenAt);
    pen.fillStyle = colour(powers.includes(power) ? power : "off");
    // The devices' work is high, their rest is low: not by colour alone.
    const share = power === "off" || power === "failed" ? 0.25 : 1;
    pen.fillRect(from, height * (1 - share), Math.max(to - from, 1), height * share);
  });
}

present();
// Ages grow by themselves.
setInterval(redraw, 500);
