/** What a route is where its declaration leaves it open. */
import type { Route } from '../contracts/plugin.js';

export const needsKey = (route: Route): boolean => route.key ?? true;

/** Whether its requests count against the caller's limit. */
export const isLimited = (route: Route): boolean => route.kind === 'data' || (route.limited ?? true);

/** Whether shared caches keep its answer. */
export const isShared = (route: Route): boolean => route.kind === 'service' && route.sharedSeconds !== undefined;
