// Reads a map in one file of PMTiles, version 3 (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md). The hub
// serves ranges of its bytes.

const headerBytes = 127;
// The format requires that the header and the root directory are within these bytes.
const firstBytes = 16_384;
const leafLimit = 64;
// No directory of a raster map is longer. Without the limit, a wrong length could fill the memory.
const directoryLimit = 8_000_000;
const pictureTypes = { 2: "image/png", 3: "image/jpeg", 4: "image/webp", 5: "image/avif" };

export class TileFile {
  constructor(address) {
    this.address = address;
    this.leaves = new Map();
    /** The hub's entity tag of the file. */
    this.tag = null;
  }

  /** Reads the header once. After a failure, the next picture tries again. */
  open() {
    this.opening ??= this.readHeader().catch((error) => {
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  /** The picture of a tile; `null` if the file has none. */
  async picture(level, column, row) {
    const header = await this.open();
    const id = tileID(level, column, row);
    let directory = header.root;
    // There is a root directory, and at most three levels of leaf directories.
    for (let depth = 0; depth < 4; depth++) {
      const entry = find(directory, id);
      if (!entry) return null;
      if (entry.run > 0) {
        const bytes = await this.bytes(header.data + entry.offset, entry.length);
        const plain = await unpacked(bytes, header.pictureCompression);
        return createImageBitmap(new Blob([plain], { type: header.type }));
      }
      directory = await this.leaf(header, entry);
    }
    return null;
  }

  async readHeader() {
    const bytes = await this.bytes(0, firstBytes);
    if (bytes.byteLength < headerBytes || text(bytes, 0, 7) !== "PMTiles" || bytes[7] !== 3) throw new Error("it is not a PMTiles file of version 3");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const long = (at) => view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
    const [rootAt, rootLength] = [long(8), long(16)];
    const type = pictureTypes[bytes[99]];
    if (!type) throw new Error("it has no pictures, but vectors");
    if (rootAt + rootLength > firstBytes) throw new Error("its root directory is too long");
    const compression = bytes[97];
    const root = entries(await unpacked(bytes.subarray(rootAt, rootAt + rootLength), compression));
    return {
      root, type, compression, pictureCompression: bytes[98], leaves: long(40), data: long(56), least: bytes[100], most: bytes[101],
    };
  }

  leaf(header, { offset, length }) {
    const known = this.leaves.get(offset);
    if (known) return known;
    if (this.leaves.size >= leafLimit) this.leaves.delete(this.leaves.keys().next().value);
    const reading = this.bytes(header.leaves + offset, length)
      .then((bytes) => unpacked(bytes, header.compression)).then(entries);
    this.leaves.set(offset, reading);
    reading.catch(() => this.leaves.delete(offset));
    return reading;
  }

  async bytes(from, length) {
    const headers = { Range: `bytes=${from}-${from + length - 1}` };
    // If the file is replaced, the known directories are not valid for the new one.
    if (this.tag) headers["If-Match"] = this.tag;
    const answer = await fetch(this.address, { headers });
    if (answer.status === 412) {
      this.tag = this.opening = null;
      this.leaves.clear();
    }
    if (answer.status !== 206) throw new Error(answer.ok ? "the hub does not serve parts of it" : (await reason(answer)));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (bytes.byteLength > length) throw new Error("the hub sent another part of it");
    this.tag ??= answer.headers.get("ETag");
    return bytes;
  }
}

async function reason(answer) {
  const told = await answer.json().catch(() => null);
  return told?.error?.message ?? `${answer.status}`;
}

const text = (bytes, from, to) => String.fromCharCode(...bytes.subarray(from, to));

async function unpacked(bytes, compression) {
  if (compression === 1) return bytes;
  if (compression !== 2) throw new Error("it is compressed in a way that browsers do not read; gzip is one they do");
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const parts = [];
  let count = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    count += value.byteLength;
    if (count > directoryLimit) throw new Error("one of its directories is too long");
    parts.push(value);
  }
  const all = new Uint8Array(count);
  parts.reduce((at, part) => (all.set(part, at), at + part.byteLength), 0);
  return all;
}

/** Parses a directory. It is stored by column: identifiers as differences, run lengths, lengths and offsets. */
export function entries(bytes) {
  let at = 0;
  const number = () => {
    let [value, scale] = [0, 1];
    for (;;) {
      if (at >= bytes.length || scale > 2 ** 49) throw new Error("one of its directories is damaged");
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  const count = number();
  if (count > bytes.length) throw new Error("one of its directories is damaged");
  const list = Array.from({ length: count }, () => ({}));
  let id = 0;
  for (const entry of list) entry.id = id += number();
  for (const entry of list) entry.run = number();
  for (const entry of list) entry.length = number();
  list.forEach((entry, index) => {
    const value = number();
    // 0 means directly after the previous entry.
    entry.offset = value === 0 && index ? list[index - 1].offset + list[index - 1].length : value - 1;
  });
  return list;
}

function find(directory, id) {
  let [low, high] = [0, directory.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (directory[middle].id <= id) low = middle + 1;
    else high = middle;
  }
  const entry = directory[low - 1];
  return entry && (entry.run === 0 || id < entry.id + entry.run) ? entry : null;
}

/** The number of a tile: the number of all tiles of lower levels, plus its position on the Hilbert curve of its level. */
export function tileID(level, column, row) {
  let id = (4 ** level - 1) / 3;
  let [x, y] = [column, row];
  for (let side = 2 ** level / 2; side >= 1; side /= 2) {
    const right = x >= side ? 1 : 0;
    const low = y >= side ? 1 : 0;
    id += side * side * ((3 * right) ^ low);
    x -= right * side;
    y -= low * side;
    if (low) continue;
    if (right) [x, y] = [side - 1 - x, side - 1 - y];
    [x, y] = [y, x];
  }
  return id;
}
