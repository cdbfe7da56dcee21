/** This module imports nothing, because it reports that other modules could not be loaded. */

export const loadAdvice = () => {
  const responses = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource'));
  const status = responses.findLast(({ responseStatus }) => responseStatus >= 400)?.responseStatus;
  return status === 429
    ? 'The service has received too many requests from your address. Wait a minute, then try again.'
    : 'Check your connection and whether the service is running, then try again.';
};

/** @param {string} tag @param {string} text */
const elementWith = (tag, text) => {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
};

export const showLoadError = () => {
  const button = elementWith('button', 'Try again');
  button.addEventListener('click', () => location.reload());
  const notice = document.createElement('section');
  notice.className = 'notice';
  notice.setAttribute('role', 'alert');
  notice.append(elementWith('h1', 'This page cannot be loaded'), elementWith('p', loadAdvice()), button);
  document.querySelector('main')?.replaceChildren(notice);
};

addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLScriptElement) showLoadError();
  },
  true,
);
