import { getKey, Problem } from './api.js';
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
      advice: `It is overloaded, it cannot read its data, or this request takes too long. Try again ${inSeconds(retryAfter)}. For details, see the status page.`,
    };
  }
  if (status === 401) return { heading: 'Key needed', advice: message };
  if (status === 404) return { heading: 'Not found', advice: message };
  return { heading: 'That did not work', advice: message };
};

/** @param {unknown} error */
export const problemTitle = (error) => explain(error).heading;

/**
 * @param {unknown} error @param {() => void} retry
 * @param {{ titled?: boolean }} [options] `titled`: whether the title of the page already is `problemTitle`
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
    h('p', advice),
    error instanceof Problem && error.status === 404
      ? h('a', { href: '#/' }, 'Back to the start')
      : h('button', { type: 'button', onclick: again }, 'Try again'),
  );
};
