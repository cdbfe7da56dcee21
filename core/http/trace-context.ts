/** The trace that a request belongs to, by the header `traceparent` of W3C Trace Context (level 1, section 3.2). */

/** Version, trace id, parent id, flags; later versions may have more after another dash. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;

/** The trace id, 32 hex digits; undefined where the header is absent or not valid, which is then ignored. */
export const traceId = (traceparent: string | string[] | undefined): string | undefined => {
  if (typeof traceparent !== 'string') return undefined;
  const match = TRACEPARENT.exec(traceparent);
  // Version 00 has nothing more.
  return match && (match[1] !== '00' || match[3] === undefined) ? match[2] : undefined;
};
