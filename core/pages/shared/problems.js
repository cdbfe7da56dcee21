import { basePath, getKey, Problem } from './api.js';
import { h } from './dom.js';
import { keyForm } from './key-form.js';

/** @param {number | undefined} seconds */
const inSeconds = (seconds) =>
  seconds === undefined ? 'in a moment' : `in ${seconds} second${seconds === 1 ? '' : 's'}`;

/** @param {unknown} error @returns {{ heading: string, advice: string }} */
const explain = (error) => {
  if (!(error instanceof Problem)) {
    return {
      heading: 'Something went wrong on this page',
      advice: 'Reload it. If that does not help, please report it.',
    };
  }
  const { status, code, message, retryAfter } = error;
  if (code === 'not_loaded') return { heading: 'This view cannot be loaded', advice: message };
  if (code === 'timeout') {
    return { heading: 'The service does not respond', advice: `${message} Check your connection, then try again.` };
  }
  if (status === 0) {
    return {
      heading: 'The service cannot be reached',
      advice: 'Check your connection and whether the service is running. Then try again, or reload the page.',
    };
  }
  if (code === 'quota_exceeded') return { heading: 'Quota exceeded', advice: message };
  if (status === 429) {
    return {
      heading: 'Too many requests',
      advice: `You have reached the limit per minute for ${getKey() === '' ? 'requests without a key' : 'this key'}. Try again ${inSeconds(retryAfter)}.`,
    };
  }
  if (status === 503) {
    return {
      heading: 'The service is temporarily unavailable',
      advice: `It is overloaded, it cannot read its data, or this request takes too long. Try again ${inSeconds(retryAfter)}.`,
    };
  }
  if (status === 401) return { heading: 'Key needed', advice: message };
  if (status === 404) return { heading: 'Not found', advice: message };
  return { heading: 'That did not work', advice: message };
};

/** Matches a hint in an error message of the API, such as " /markets lists all of them." */
const LIST = / \/([\w-]+) lists all of them\.$/;

/** @param {string} view */
const hasView = (view) => document.querySelector(`nav a[href="#/${view}"]`) !== null;

/** Returns the address of the status page, or of the JSON status if the service has no status page. */
const statusAddress = () => {
  if (hasView('status')) return '#/status';
  const page = document.querySelector('a[data-shows-data]')?.getAttribute('href');
  return page ? `${page}#/status` : `${basePath}/status`;
};

/** @param {unknown} error @param {string} advice @returns {(HTMLElement | string)[]} */
const linked = (error, advice) => {
  if (error instanceof Problem && error.status === 503) {
    return [`${advice} `, h('a', { href: statusAddress() }, 'Status of the service')];
  }
  const list = LIST.exec(advice)?.[1] ?? '';
  return hasView(list) ? [advice.replace(LIST, ' '), h('a', { href: `#/${list}` }, `All ${list}`)] : [advice];
};

/** @param {unknown} error */
export const problemTitle = (error) => explain(error).heading;

/**
 * @param {unknown} error @param {() => void} retry
 * @param {{ titled?: boolean }} [options] `titled`: whether the title of the page is already `problemTitle`
 * @returns {HTMLElement}
 */
export const problemView = (error, retry, { titled = false } = {}) => {
  if (error instanceof Problem && error.status === 401) {
    return keyForm({
      problem:
        getKey() === ''
          ? undefined
          : 'The service does not accept this key. It may be mistyped, expired or revoked. Enter another key.',
    });
  }
  const { heading, advice } = explain(error);
  if (!(error instanceof Problem)) console.error(error);
  // Some browsers never request a failed module again, so the page must be reloaded.
  const again = error instanceof Problem && error.code === 'not_loaded' ? () => location.reload() : retry;
  return h(
    'section',
    { class: 'notice', role: 'alert' },
    titled ? null : h('h2', heading),
    h('p', ...linked(error, advice)),
    error instanceof Problem && error.status === 404
      ? h('a', { href: '#/' }, 'Back to the start')
      : h('button', { type: 'button', onclick: again }, 'Try again'),
  );
};
