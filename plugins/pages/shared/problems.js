/** Shows what went wrong and what the reader can do. */
import { getKey, Problem } from './api.js';
import { h } from './dom.js';
import { keyForm } from './key-form.js';

/** @param {number | undefined} seconds */
const inSeconds = (seconds) =>
  seconds === undefined ? 'in a moment' : `in ${seconds} second${seconds === 1 ? '' : 's'}`;

/**
 * @param {Problem} problem
 * @returns {{ heading: string, advice: string }}
 */
const explain = ({ status, code, message, retryAfter }) => {
  if (status === 0) {
    return {
      heading: message,
      advice: 'Check your connection and that the service runs. Then try again, or reload the page.',
    };
  }
  if (code === 'quota_exceeded') return { heading: 'The quota is used up', advice: message };
  if (status === 429) {
    return {
      heading: 'Too many requests',
      advice: `${getKey() === '' ? 'Readers without a key have' : 'This key has'} a limit per minute, which is used up. Try again ${inSeconds(retryAfter)}.`,
    };
  }
  if (status === 503) {
    return {
      heading: 'The service cannot answer right now',
      advice: `Its data cannot be read, or it is overloaded. Try again ${inSeconds(retryAfter)}. The status page has details.`,
    };
  }
  if (status === 404) return { heading: 'Nothing found', advice: message };
  return { heading: 'That did not work', advice: message };
};

/**
 * @param {unknown} error what was thrown
 * @param {() => void} retry
 * @returns {HTMLElement}
 */
export const problemView = (error, retry) => {
  if (error instanceof Problem && error.status === 401) {
    return getKey() === ''
      ? keyForm({ heading: 'Enter your API key' })
      : keyForm({
          heading: 'Enter another API key',
          problem: 'The service does not accept this key. It is mistyped, expired or revoked.',
        });
  }
  const { heading, advice } =
    error instanceof Problem
      ? explain(error)
      : { heading: 'This page has an error', advice: 'Reload it. If that does not help, please report it.' };
  if (!(error instanceof Problem)) console.error(error);
  return h(
    'section',
    { class: 'notice', role: 'alert' },
    h('h2', {}, heading),
    h('p', {}, advice),
    // There is no button to retry after a 404, since the response would be the same.
    error instanceof Problem && error.status === 404
      ? h('a', { href: '#/' }, 'Back to the start')
      : h('button', { type: 'button', onclick: retry }, 'Try again'),
  );
};
