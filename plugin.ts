/** The `./plugin` entry point, for authors of plugins. The built-in plugins import only from this file and `./adapter`. */
import { chosenFields } from './core/routes/fields.js';
import { pageHeaders, pageOf, pageParameters, rowOrder } from './core/routes/pagination.js';
import {
  countMatching,
  findPage,
  searchedFields,
  selectPage,
  selectSorted,
  selectTotals,
  tooManyRows,
  wordsIn,
} from './core/routes/selection.js';

export type { Cadence, Collection, Document, Manifest, Source } from './core/contracts/dataset.js';
export type { FromSchema, JsonSchema } from './core/contracts/json-schema.js';
export type { DayUsage, Quotas } from './core/contracts/limiter.js';
export type { FinishedRequest, ObserverContext, RequestObserver, TraceParent } from './core/contracts/observer.js';
export {
  type CallerAccount,
  type CallerKey,
  type Column,
  type ComponentState,
  collection,
  type DataContext,
  type DataRoute,
  type Drawing,
  dataRoute,
  definePlugin,
  type Finding,
  type Format,
  type FrontPageContent,
  type FrontPageContext,
  type FrontPageFigure,
  type FrontPageItem,
  type IdentifiedCaller,
  type Identity,
  type IdentityRequest,
  type Label,
  type Mount,
  type MountContext,
  type OpenContext,
  type Parameter,
  type Plugin,
  type PluginContext,
  type PublishedVersion,
  type Route,
  type Row,
  type RunningContext,
  type ServiceRoute,
  type ServiceState,
  type Shape,
  type SnapshotReader,
  type StatusComponent,
  serviceRoute,
} from './core/contracts/plugin.js';
export type { Clock, Health, Logger } from './core/contracts/runtime.js';
export { conventions, type InterfaceChange, type ServiceInfo } from './core/contracts/service.js';
export type { Condition, Group, Scalar } from './core/contracts/storage.js';
export { conditionsOf, filterColumns } from './core/data/conditions.js';
export { readDeclarations } from './core/data/declarations.js';
export { textOf } from './core/data/lazy-rows.js';
export * as periods from './core/data/period.js';
export {
  ApiError,
  defineError,
  type ErrorDetail,
  type ErrorKind,
  errors,
  invalidParameter,
  OperatorError,
} from './core/errors.js';
export { excerpt } from './core/keys/key.js';
export { embedOptions, guidePage, pageMount } from './core/pages/page-mount.js';
export { callerOf } from './core/pipeline/caller.js';
export type { PageInput } from './core/routes/pagination.js';
export type { Selection } from './core/routes/selection.js';
export { packageVersion as version } from './core/util/package.js';
export { nearest } from './core/validation/nearest.js';
export * as schemas from './core/validation/schemas.js';

/** Helpers for paginated lists: parameters and headers to declare, and functions that return one page. */
export const paging = {
  parameters: pageParameters,
  headers: pageHeaders,
  findPage,
  selectPage,
  selectSorted,
  pageOf,
  rowOrder,
} as const;

/** Helpers for requests that select fields, and search, count or total rows. */
export const selection = { chosenFields, countMatching, searchedFields, selectTotals, tooManyRows, wordsIn } as const;
