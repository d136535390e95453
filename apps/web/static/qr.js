// A text as a QR code (ISO/IEC 18004): bytes, error correction level M, versions 1 to 10, mask 0.

/** Of each version: its codewords, those of error correction in a block, and its blocks. */
const VERSIONS = [
  [26, 10, 1], [44, 16, 1], [70, 26, 1], [100, 18, 2], [134, 24, 2],
  [172, 16, 4], [196, 18, 4], [242, 22, 4], [292, 22, 5], [346, 26, 5],
];
const FORMAT = 0x5412; // the 15 bits that stand for level M and mask 0
const QUIET = 4; // modules of margin

/** The field of 256 elements in which errors are corrected: powers of 2 modulo 0x11d. */
const POWERS = [1];
while (POWERS.length < 255) {
  const next = 2 * POWERS.at(-1);
  POWERS.push(next > 255 ? next ^ 0x11d : next);
}
const times = (one, two) =>
  one && two ? POWERS[(POWERS.indexOf(one) + POWERS.indexOf(two)) % 255] : 0;

/** The Reed-Solomon codewords of a block. */
function correction(block, count) {
  let generator = [1];
  for (let n = 0; n < count; n++)
    generator = [...generator, 0].map((one, at) => one ^ times(generator[at - 1] ?? 0, POWERS[n]));
  let rest = Array(count).fill(0);
  for (const byte of block) {
    const factor = byte ^ rest[0];
    rest = [...rest.slice(1), 0].map((one, at) => one ^ times(generator[at + 1], factor));
  }
  return rest;
}

/** The blocks in turn: the first of each, the second of each, and so on. */
const interleaved = (blocks) =>
  blocks.at(-1).flatMap((_, at) => blocks.filter((block) => at < block.length).map((block) => block[at]));

/** All codewords of a text, and the version that has room for it. RangeError for a longer one. */
function codewordsOf(text) {
  const bytes = [...new TextEncoder().encode(text)];
  const lengthDigits = (version) => (version < 10 ? 2 : 4); // hexadecimal
  const room = ([all, each, blocks]) => all - each * blocks;
  const fits = (sizes, at) => bytes.length + 1 + lengthDigits(at + 1) / 2 <= room(sizes);
  const version = VERSIONS.findIndex(fits) + 1;
  if (!version) throw new RangeError(`a code holds up to 213 bytes, not ${bytes.length}`);
  const sizes = VERSIONS[version - 1];
  const hex = (number, digits) => number.toString(16).padStart(digits, "0");
  const length = hex(bytes.length, lengthDigits(version));
  const digits = `4${length}${bytes.map((byte) => hex(byte, 2)).join("")}0`; // 4: bytes, 0: the end
  const data = digits.match(/../g).map((pair) => parseInt(pair, 16));
  for (let n = 0; data.length < room(sizes); n++) data.push(n % 2 ? 17 : 236);
  const [, each, count] = sizes;
  const blocks = [];
  for (let n = count; n > 0; n--) blocks.push(data.splice(0, Math.floor(data.length / n)));
  const words = [...interleaved(blocks), ...interleaved(blocks.map((block) => correction(block, each)))];
  return { version, words };
}

/** The modules of a text's code: rows of booleans, true where dark. */
export function codeOf(text) {
  const { version, words } = codewordsOf(text);
  const size = 17 + 4 * version;
  const last = size - 7;
  const rows = Array.from({ length: size }, () => Array(size).fill(null));
  const set = (row, col, isDark) => (rows[row][col] = Boolean(isDark));
  const square = (row, col, radius, light) => {
    for (let y = Math.max(row - radius, 0); y <= Math.min(row + radius, size - 1); y++)
      for (let x = Math.max(col - radius, 0); x <= Math.min(col + radius, size - 1); x++)
        set(y, x, !light.includes(Math.max(Math.abs(y - row), Math.abs(x - col))));
  };
  for (const [row, col] of [[3, 3], [3, size - 4], [size - 4, 3]]) square(row, col, 4, [2, 4]);
  const centres = version < 2 ? [] : version < 7 ? [6, last] : [6, (6 + last) / 2, last];
  for (const row of centres)
    for (const col of centres) if (rows[row][col] === null) square(row, col, 2, [1]);
  for (let at = 8; at < size - 8; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (let bit = 0; bit < 15; bit++) {
    const isDark = (FORMAT >> bit) & 1;
    const near = bit < 6 ? bit : bit < 8 ? bit + 1 : bit === 8 ? 7 : 14 - bit;
    if (bit < 8) set(near, 8, isDark);
    else set(8, near, isDark);
    if (bit < 8) set(8, size - 1 - bit, isDark);
    else set(size - 15 + bit, 8, isDark);
  }
  set(size - 8, 8, true);
  let check = version;
  for (let n = 0; n < 12; n++) check = (check << 1) ^ ((check >> 11) * 0x1f25);
  for (let bit = 0; version > 6 && bit < 18; bit++) {
    const isDark = (((version << 12) | check) >> bit) & 1;
    set(Math.floor(bit / 3), size - 11 + (bit % 3), isDark);
    set(size - 11 + (bit % 3), Math.floor(bit / 3), isDark);
  }
  const isOn = (bit) => ((words[bit >> 3] ?? 0) >> (7 - (bit % 8))) & 1;
  let [bit, isUp] = [0, true];
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5; // a column of the frame
    for (let n = 0; n < size; n++)
      for (const col of [right, right - 1]) {
        const row = isUp ? size - 1 - n : n;
        if (rows[row][col] === null) set(row, col, isOn(bit++) ^ ((row + col) % 2 === 0));
      }
    isUp = !isUp;
  }
  return rows;
}

/** The code of a text as a picture's path and side, with its margin. */
export function pictureOf(text) {
  const rows = codeOf(text);
  const dark = (row, y) => row.map((isDark, x) => (isDark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : "")).join("");
  return { path: rows.map(dark).join(""), side: rows.length + 2 * QUIET };
}
