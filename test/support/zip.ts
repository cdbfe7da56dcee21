import { buffer } from 'node:stream/consumers';
import { crc32, deflateRawSync } from 'node:zlib';
import { fromBuffer } from 'yauzl';

export const zipOf = (files: Readonly<Record<string, string>>, isStored = false): Buffer => {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const packed = isStored ? content : deflateRawSync(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(isStored ? 0 : 8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), packed]);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    entries.push(Buffer.concat([entry, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
};

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const LINKS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const OFFICE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

export const workbook = (rows: readonly (readonly (string | number | bigint | Date)[])[]): Buffer => {
  const cell = (value: string | number | bigint | Date, row: number, column: number): string => {
    const at = `${String.fromCharCode(65 + column)}${row + 1}`;
    // Excel stores a date as the number of days since 1899-12-30. Style 1 is the date format below.
    if (value instanceof Date) return `<c r="${at}" s="1"><v>${value.getTime() / 86_400_000 + 25_569}</v></c>`;
    return typeof value === 'string'
      ? `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`
      : `<c r="${at}"><v>${value}</v></c>`;
  };
  const lines = rows.map(
    (cells, row) => `<row r="${row + 1}">${cells.map((each, i) => cell(each, row, i)).join('')}</row>`,
  );
  return zipOf({
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${OFFICE}.sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="${OFFICE}.styles+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${OFFICE}.worksheet+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${LINKS}"><sheets><sheet name="Data" sheetId="1" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${LINKS}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="${LINKS}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${MAIN}"><sheetData>${lines.join('')}</sheetData></worksheet>`,
  });
};

/** Reads a ZIP archive, and checks the CRC-32 of each file. */
export const entriesOf = (archive: Buffer): Promise<{ name: string; bytes: Buffer }[]> =>
  new Promise((resolve, reject) => {
    fromBuffer(archive, { lazyEntries: true }, (error, zip) => {
      if (error) return reject(error);
      const entries: { name: string; bytes: Buffer }[] = [];
      zip.on('error', reject);
      zip.on('end', () => resolve(entries));
      zip.on('entry', (entry) => {
        zip.openReadStream(entry, async (failure, stream) => {
          if (failure) return reject(failure);
          const bytes = await buffer(stream);
          if (crc32(bytes) !== entry.crc32) return reject(new Error(`${entry.fileName} has a wrong CRC-32`));
          entries.push({ name: entry.fileName, bytes });
          zip.readEntry();
        });
      });
      zip.readEntry();
    });
  });
