import { keepInAddress } from '../../../../../core/pages/data-views/address.js';
import { checkBox, choice, select } from '../../../../../core/pages/data-views/controls.js';
import { latestOf, showLatest } from '../../../../../core/pages/data-views/latest.js';
import { nameTab, retitle } from '../../../../../core/pages/data-views/router.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { quarter } from '../../../../../core/pages/shared/format.js';
import { HPI, seriesOf } from '../catalog.js';
import { addForm } from './add-form.js';
import { chipsOf, comparisonFigure } from './figure.js';
import { choicesOf, offerOf, SHOWS } from './members.js';
import { optionsOf } from './options.js';
import { findingOf, NO_FINDING, namesOf, QUESTION } from './texts.js';

/** @import { Choices, Member } from './members.js' */

/** @param {import('../../../client/api-types.js').Series | undefined} index */
const yearsOf = (index) => {
  const first = Number(index?.observation_start?.slice(0, 4) ?? 1975);
  const last = Number(index?.observation_end?.slice(0, 4) ?? 2025);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => String(first + at));
};

/** @param {Choices} chosen */
const keep = ({ m, s, show, real, from }) =>
  keepInAddress({
    m: m.join(','),
    s: s.join(','),
    show: show === 'rebased' ? null : show,
    real: real ? '1' : null,
    from,
  });

/** @param {Choices} chosen @param {readonly string[]} years @param {(change: Partial<Choices>) => void} choose */
const controlsOf = (chosen, years, choose) => {
  const real = checkBox('real', 'Real terms', chosen.real, (isReal) => choose({ real: isReal }));
  const since = years.map((year) => /** @type {const} */ ([year, year]));
  return {
    element: h(
      'div',
      { class: 'switches' },
      choice({
        legend: 'Show',
        name: 'show',
        choices: SHOWS,
        value: chosen.show,
        onchange: (show) => choose({ show }),
      }),
      real.element,
      select('from', 'Since', since, chosen.from, (from) => choose({ from })),
    ),
    update: () => {
      real.box.disabled = chosen.show === 'nation';
    },
  };
};

/** @type {import('../../../../../core/pages/data-views/router.js').Route} */
export const compareView = async (_parameters, signal, query) => {
  const [offer, index] = await Promise.all([offerOf(signal), seriesOf(HPI)]);
  const { chosen, isExample, problem, divisions } = choicesOf(query, offer);
  const years = yearsOf(index);
  if (!years.includes(chosen.from)) chosen.from = `${years[0] ?? chosen.from}`;
  let example = isExample;
  const hint = h('p', { class: 'muted hint' }, 'This is an example. Your first market or series replaces it.');
  hint.hidden = !isExample;
  const chips = h('ul', { class: 'chips', 'aria-label': 'Compared' });
  const figure = h('div');
  const next = latestOf(signal);
  let isShown = false;
  let title = NO_FINDING;
  let name = 'Compare';
  const load = async () => {
    const members = await offer.members(chosen);
    return { members, ...(await optionsOf(members, chosen, signal)) };
  };
  const show = () =>
    showLatest(next, figure, load, (comparison, shown) => {
      const remove = (/** @type {Member} */ { kind, id }) => {
        example = false;
        choose({ [kind]: chosen[kind].filter((one) => one !== id) });
      };
      chips.replaceChildren(...chipsOf(comparison.members, remove));
      controls.update();
      title = findingOf(comparison.options, { ...comparison, show: chosen.show, isPrices: chosen.s.length === 0 });
      name = `Compare ${namesOf(comparison.members)}`.trim();
      if (isShown) {
        retitle(title, QUESTION);
        nameTab(name);
      }
      figure.replaceChildren(
        comparisonFigure({ ...comparison, title }, chosen, { index, macros: offer.macros }, shown),
      );
    });
  const choose = (/** @type {Partial<Choices>} */ change) => {
    Object.assign(chosen, change);
    hint.hidden = !example;
    keep(chosen);
    void show();
  };
  const controls = controlsOf(chosen, years, choose);
  const form = addForm(offer, {
    problem,
    offered: divisions,
    members: () => (example ? { m: [], s: [] } : chosen),
    onadd: (added) => {
      // The form waits for the ZIP codes to load. Meanwhile, the user may have left the view.
      if (signal.aborted) return;
      const { m, s } = example ? { m: [], s: [] } : chosen;
      example = false;
      choose({ m, s, .../** @type {Partial<Choices>} */ (added) });
    },
  });
  await show();
  isShown = true;
  return {
    title,
    name,
    question: QUESTION,
    about: index ? [`${index.title}, up to ${quarter(index.observation_end ?? '')}`] : [],
    series: [HPI],
    content: [form, hint, chips, controls.element, figure],
  };
};
