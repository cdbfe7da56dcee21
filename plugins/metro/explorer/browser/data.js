import { dataTools } from '../../../../core/pages/data-views/figure.js';
import { save } from '../../../../core/pages/data-views/save.js';
import { dataTable } from '../../../../core/pages/data-views/table.js';
import { getJson, request } from '../../../../core/pages/shared/api.js';
import { h } from '../../../../core/pages/shared/dom.js';
import { bytes } from '../../../../core/pages/shared/format.js';
import { catalog, HPI } from './catalog.js';

/** @typedef {{ name: string, about: string, target: string }} Collection */
/** @typedef {readonly [extension: string, label: string, accept: string]} Format */

/** @type {readonly Format[]} */
const FORMATS = [
  ['csv', 'CSV', 'text/csv'],
  ['ndjson', 'NDJSON', 'application/x-ndjson'],
  ['json', 'JSON', 'application/json'],
  ['parquet', 'Parquet', 'application/vnd.apache.parquet'],
];

/** @type {readonly Collection[]} */
const COLLECTIONS = [
  { name: 'markets', about: 'Markets with their newest figures', target: '/markets' },
  { name: 'forecasts', about: 'Forecasts of the newest run', target: '/forecasts' },
  { name: 'forecast-track', about: 'All forecasts of all runs, with outcomes', target: '/forecast-track' },
  { name: 'forecast-runs', about: 'Runs: model, vintage, thresholds, coefficients', target: '/forecast-runs' },
  { name: 'index', about: 'Index of all markets, every quarter', target: `/observations?series_id=${HPI}` },
  { name: 'series', about: 'Series: titles, units, sources, notes', target: '/series' },
  { name: 'areas', about: 'Areas: places, states, divisions', target: '/areas' },
];

/** @param {readonly string[]} ids @returns {Collection[]} */
const macroOf = (ids) =>
  ids.length === 0
    ? []
    : [
        {
          name: 'macro-series',
          about: `Observations of the ${ids.length} other series`,
          target: `/observations?series_id=${ids.map(encodeURIComponent).join(',')}`,
        },
      ];

/** @param {Collection} collection @param {Format} format */
const download = ({ name, target }, [extension, label, accept]) => {
  const button = h('button', { type: 'button', class: 'quiet', 'aria-label': `${label}: ${name}` }, label);
  const note = h('small', { role: 'status' });
  button.addEventListener('click', async () => {
    button.disabled = true;
    note.textContent = 'Loading …';
    try {
      const blob = await (await request(target, { accept })).blob();
      save(blob, `${name}.${extension}`);
      note.textContent = bytes(blob.size);
    } catch (error) {
      note.textContent = error instanceof Error && error.message ? error.message : 'The download failed.';
    } finally {
      button.disabled = false;
    }
  });
  return [button, ' ', note, ' '];
};

/** @type {import('../../../../core/pages/data-views/router.js').Route} */
export const dataView = async (_parameters, signal) => {
  const [all, { snapshot }] = await Promise.all([catalog(), getJson('/status', { key: false, signal })]);
  const rows = [
    ...COLLECTIONS,
    ...macroOf(all.filter(({ kind }) => kind === 'macro').map(({ series_id }) => series_id)),
  ];
  return {
    title: `${rows.length} collections to download as CSV, JSON, NDJSON or Parquet`,
    name: 'All the data',
    question: 'How do I get all of the data?',
    series: [HPI],
    about: [
      ...(snapshot ? [`snapshot ${snapshot.version}`] : []),
      'ZIP codes in the search: Census Bureau and, for Connecticut, GeoNames (CC BY 4.0)',
    ],
    content: [
      h(
        'p',
        'Each download is a single API call. The file size appears when the download is complete. The calls for use in programs are listed below.',
      ),
      dataTable({
        caption: 'Collections.',
        rows,
        columns: /** @type {import('../../../../core/pages/data-views/table.js').Column<Collection>[]} */ ([
          { label: 'Collection', cell: ({ about }) => about },
          { label: 'Call', cell: ({ target }) => h('code', target.replace(/(.{42}).+/, '$1…')), name: 'wide' },
          {
            label: 'Download',
            name: 'downloads',
            cell: (row) => FORMATS.flatMap((format) => download(row, format)),
          },
        ]),
      }).element,
      dataTools({ sources: rows.map(({ name, target }) => ({ label: name, target })) }),
    ],
  };
};
