import { bar } from '../../../../core/pages/data-views/bars.js';
import { dataTable, numbers } from '../../../../core/pages/data-views/table.js';
import { getJson } from '../../../../core/pages/shared/api.js';
import { h } from '../../../../core/pages/shared/dom.js';
import { percent, points } from '../../../../core/pages/shared/format.js';
import { inputLabel } from './inputs.js';

/** @import { Driver } from '../../client/api-types.js' */

/** @param {string} cbsa @param {AbortSignal} signal */
export const driversOf = async (cbsa, signal) => {
  const target = `/markets/${encodeURIComponent(cbsa)}/drivers`;
  const rows = /** @type {Driver[]} */ ((await getJson(target, { signal })).data);
  const [first] = rows;
  if (!first) return null;
  const most = Math.max(...rows.map(({ contribution_pp }) => Math.abs(contribution_pp)), 0.01);
  return h(
    'section',
    { class: 'drivers' },
    h('h2', 'Why this forecast'),
    h(
      'p',
      { class: 'muted' },
      `The contributions add up to the forecast of ${percent(first.point)}. They are terms of a regression, not causes. The last column is the change since the previous run.`,
    ),
    dataTable({
      caption: 'Contributions of the model’s inputs.',
      rows,
      columns: [
        { label: 'Input', cell: ({ input }) => inputLabel(input) },
        numbers('Contribution', ({ contribution_pp }) => contribution_pp, points),
        {
          label: 'Down or up',
          cell: ({ contribution_pp }) =>
            bar(contribution_pp, { least: -most, most, color: contribution_pp < 0 ? 'fall-2' : 'rise-4' }),
          name: 'wide',
        },
        numbers('Change', ({ change_pp }) => change_pp, points),
      ],
    }).element,
  );
};
