/** The option `--created`: the time that a dataset bears, which becomes its snapshot's publication time. */
import { InvalidArgumentError, Option } from 'commander';

const parseTime = (text: string): Date => {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT.*Z$/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It must be a time in UTC like 2026-03-01T12:00:00Z.');
  return time;
};

/** @param what of which it is the time: `the import` */
export const createdOption = (what: string): Option =>
  new Option(
    '--created <time>',
    `the time of ${what}, for builds that repeat and vintages of the past (default: now)`,
  ).argParser(parseTime);
