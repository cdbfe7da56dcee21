import { getJson } from '../shared/api.js';
import { h } from '../shared/dom.js';
import { day, period, span } from '../shared/format.js';
import { badge } from './badge.js';
import { ageLine } from './bars.js';
import { dataTools } from './figure.js';
import { column, dataTable, numbers } from './table.js';

/** @import { Column } from './table.js' */

/**
 * @typedef {{ id: string, status: string, message: string | null, updated_at: string | null }} Component
 * @typedef {{ id: string, cadence: string, state: string, latest_period: string | null, last_loaded_at: string | null,
 *   age_seconds: number | null, late_after_seconds: number,
 *   stale_after_seconds: number }} Source
 */

/** @type {Column<Component>[]} */
const COMPONENTS = [
  { label: 'Component', cell: ({ id }) => id },
  { label: 'State', cell: ({ status }) => badge(status) },
  { label: 'Message', cell: ({ message }) => message ?? 'No known problems.' },
  { label: 'Updated', cell: ({ updated_at }) => day(updated_at), name: 'date wide' },
];

/** @type {Column<Source>[]} */
const AGES = [
  numbers('Age', (row) => row.age_seconds, span, { name: 'wide' }),
  {
    label: 'Late, stale',
    cell: ({ age_seconds: age, late_after_seconds: late, stale_after_seconds: stale }) =>
      age === null
        ? null
        : [ageLine(age, late, stale), h('small', { class: 'muted' }, `after ${span(late)}, ${span(stale)}`)],
    name: 'wide',
  },
];

/** @param {ReadonlyMap<string, string>} titles @param {boolean} ages @returns {Column<Source>[]} */
const sourceColumns = (titles, ages) => [
  {
    label: 'Source',
    cell: ({ id, cadence }) => [
      titles.get(id) ?? id,
      h('small', { class: 'muted' }, titles.has(id) ? `${id}, ${cadence}` : cadence),
    ],
    value: ({ id }) => titles.get(id) ?? id,
    name: 'long',
  },
  column('State', ({ state }) => state, badge),
  {
    label: 'Latest period',
    cell: (row) => [
      period(row.latest_period, row.cadence),
      h('small', { class: 'muted narrow' }, row.age_seconds === null || !ages ? '' : `${span(row.age_seconds)} old`),
    ],
    value: (row) => row.latest_period,
    name: 'date',
  },
  ...(ages ? AGES : []),
  column('Loaded', (row) => row.last_loaded_at, day, { name: 'date wide' }),
];

/** @param {readonly Source[]} sources @param {ReadonlyMap<string, string>} titles */
const byTitle = (sources, titles) => {
  const titleOf = (/** @type {Source} */ { id }) => titles.get(id) ?? id;
  return sources.toSorted((a, b) => titleOf(a).localeCompare(titleOf(b), 'en'));
};

/** @param {string} status @param {readonly Source[]} sources */
const findingOf = (status, sources) => {
  const late = sources.filter(({ state }) => state === 'late' || state === 'stale').length;
  const all = sources.length === 1 ? 'its source is' : 'all sources are';
  const some = `${late} of ${sources.length} sources ${late === 1 ? 'is' : 'are'}`;
  const fresh = late === 0 ? `${all} up to date` : `${late === sources.length ? all : some} overdue`;
  return `The service is ${status}${sources.length > 0 ? `; ${fresh}` : ''}`;
};

/**
 * @param {{ titles?: () => Promise<ReadonlyMap<string, string>>, more?: () => HTMLElement }} [parts] `titles`: names of
 *   the sources by id; `more`: content for the end of the view
 * @returns {import('./router.js').Route}
 */
export const statusView =
  ({ titles, more } = {}) =>
  async (_parameters, signal) => {
    const [{ status, generated_at, snapshot, components, sources }, known] = await Promise.all([
      getJson('/status', { key: false, signal }),
      titles?.() ?? new Map(),
    ]);
    return {
      title: findingOf(status, sources),
      name: 'Status',
      question: 'Is the service working, and is its data up to date?',
      about: [
        ...(snapshot ? [`snapshot ${snapshot.version}, published ${day(snapshot.published_at)}`] : []),
        `state as of ${generated_at.replace('T', ' ').replace('Z', ' UTC')}`,
      ],
      content: [
        snapshot ? null : h('p', { class: 'notice' }, 'No dataset is loaded. Until one is, only this page works.'),
        h('h2', 'Components'),
        dataTable({
          caption: 'Components of the service.',
          columns: COMPONENTS,
          rows: /** @type {Component[]} */ (components),
        }).element,
        ...(sources.length > 0
          ? [
              h('h2', 'Sources'),
              snapshot?.synthetic
                ? h('p', { class: 'muted' }, 'Synthetic data does not age, so no source is late.')
                : null,
              dataTable({
                caption: 'Time since the end of each source’s latest period, and whether the source is late.',
                columns: sourceColumns(known, !snapshot?.synthetic),
                rows: byTitle(/** @type {Source[]} */ (sources), known),
                // Descending order by state puts stale sources first.
                sort: '-state',
              }).element,
            ]
          : []),
        more?.(),
        dataTools({ sources: [{ label: 'status', target: '/status' }] }),
      ],
    };
  };
