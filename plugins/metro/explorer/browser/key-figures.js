import { h } from '../../../../core/pages/shared/dom.js';

/**
 * @typedef {readonly [name: string, value: import('../../../../core/pages/shared/dom.js').Child, remark?: string | undefined]}
 * KeyFigure
 */

/** @param {readonly KeyFigure[]} figures */
export const keyFigures = (figures) =>
  h(
    'dl',
    { class: 'figures' },
    ...figures.map(([name, value, remark]) =>
      h('div', h('dt', name), h('dd', value, remark ? h('small', remark) : null)),
    ),
  );
