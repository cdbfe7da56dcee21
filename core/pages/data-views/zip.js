/** Writes ZIP archives without compression, as described in PKWARE's APPNOTE.TXT. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** @param {Uint8Array} bytes */
const crcOf = (bytes) => {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ Number(TABLE[(crc ^ byte) & 0xff]);
  return (crc ^ 0xffffffff) >>> 0;
};

/** Each field is `[size in bytes, value]`. @param {...readonly [size: 2 | 4, value: number]} fields */
const record = (...fields) => {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
};

const VERSION = 20;
/** File names are in UTF-8. */
const UTF8 = 0x800;
/** 1 January 1980, the earliest date of the format. */
const DATE = 0x21;

/** @param {readonly { name: string, blob: Blob }[]} files @returns {Promise<Blob>} */
export const zipOf = async (files) => {
  /** @type {BlobPart[]} */
  const parts = [];
  /** @type {Uint8Array<ArrayBuffer>[]} */
  const entries = [];
  let offset = 0;
  for (const { name, blob } of files) {
    const [encoded, bytes] = [new TextEncoder().encode(name), new Uint8Array(await blob.arrayBuffer())];
    const length = bytes.length;
    /** @type {Parameters<typeof record>} */
    const common = [
      [2, VERSION],
      [2, UTF8],
      [2, 0],
      [2, 0],
      [2, DATE],
      [4, crcOf(bytes)],
      [4, length],
      [4, length],
    ];
    common.push([2, encoded.length], [2, 0]);
    const header = record([4, 0x04034b50], ...common);
    parts.push(header, encoded, bytes);
    entries.push(
      record([4, 0x02014b50], [2, VERSION], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]),
      encoded,
    );
    offset += header.length + encoded.length + bytes.length;
  }
  const size = entries.reduce((sum, { length }) => sum + length, 0);
  const count = files.length;
  const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, offset], [2, 0]);
  return new Blob([...parts, ...entries, end], { type: 'application/zip' });
};
