/** The trace that a request belongs to, by the header `traceparent` of W3C Trace Context (level 1, section 3.2). */
import type { TraceParent } from '../contracts/observer.js';

/** Version, trace id, parent id, flags; later versions may have more after another dash. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const SAMPLED = 1;

/** Undefined where the header is absent or not valid, which is then ignored. */
export const traceParent = (header: string | string[] | undefined): TraceParent | undefined => {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(header) ?? [];
  // Version 00 has nothing more.
  if (traceId === undefined || parentId === undefined || (version === '00' && more !== undefined)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags!, 16) & SAMPLED) === SAMPLED };
};

/** The trace id, 32 hex digits. */
export const traceId = (header: string | string[] | undefined): string | undefined => traceParent(header)?.traceId;
