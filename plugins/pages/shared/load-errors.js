/**
 * Shows a message if a script of the page cannot be loaded. Imports nothing, so that it works when other modules are
 * missing.
 */

/** Explains why a file could not be loaded, based on the browser's record of responses. */
export const loadAdvice = () => {
  const responses = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource'));
  const status = responses.findLast(({ responseStatus }) => responseStatus >= 400)?.responseStatus;
  return status === 429
    ? 'The service has received too many requests from your address. Wait a minute, then try again.'
    : 'Check your connection and whether the service is running, then try again.';
};

/** Replaces the content of the page with a message and a button that reloads the page. */
export const showLoadError = () => {
  const [heading, advice, button] = ['h1', 'p', 'button'].map((tag) => document.createElement(tag));
  const notice = document.createElement('section');
  if (!heading || !advice || !button) return;
  heading.textContent = 'This page cannot be loaded';
  advice.textContent = loadAdvice();
  button.textContent = 'Try again';
  button.addEventListener('click', () => location.reload());
  notice.className = 'notice';
  notice.setAttribute('role', 'alert');
  notice.append(heading, advice, button);
  document.querySelector('main')?.replaceChildren(notice);
};

addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLScriptElement) showLoadError();
  },
  true,
);
