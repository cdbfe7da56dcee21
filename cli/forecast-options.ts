import { OperatorError } from '../core/errors.js';
import { defaultRules } from '../plugins/metro/forecast/default-rules.js';
import type { ForecastInput } from '../plugins/metro/forecast/forecast-dataset.js';
import { defaultForecastOptions } from '../plugins/metro/forecast/model.js';
import { findModel } from '../plugins/metro/forecast/models/index.js';
import { checkRules, type Rules } from '../plugins/metro/forecast/rules.js';
import { defaultSpan, type Span } from '../plugins/metro/forecast/runs.js';
import { parseQuarter, quarterName } from '../plugins/metro/periods.js';
import { UsageError } from './options.js';

export interface ForecastArguments {
  readonly model?: string;
  readonly runs?: string;
  readonly from?: string;
  readonly to?: string;
  readonly minValues?: string;
  readonly expandPoint?: string;
  readonly expandLower?: string;
  readonly contractPoint?: string;
  readonly margin?: string;
  readonly grades?: string;
}

const NUMBER = /^[+-]?(\d+(\.\d+)?|\.\d+)$/;

const optionParser = (errors: string[]) => {
  const parsed = <T>(
    name: string,
    text: string | undefined,
    parse: (text: string) => T | undefined,
    expected: string,
  ): T | undefined => {
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) errors.push(`${name}: "${text}" is not ${expected}`);
    return value;
  };
  return {
    parsed,
    count: (name: string, text: string | undefined, least: number) =>
      parsed(
        name,
        text,
        (digits) => (/^\d{1,6}$/.test(digits) && Number(digits) >= least ? Number(digits) : undefined),
        `a whole number of at least ${least}`,
      ),
    percent: (name: string, text: string | undefined) =>
      parsed(
        name,
        text,
        (digits) => (NUMBER.test(digits) ? Number(digits) : undefined),
        'a number in percent such as 4 or -1.5',
      ),
    quarter: (name: string, text: string | undefined) => parsed(name, text, parseQuarter, 'a quarter such as 2005Q4'),
    checked<T>(check: () => T): T | undefined {
      try {
        return check();
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        errors.push(...(error.errors.length > 0 ? error.errors : [error.message]));
        return undefined;
      }
    },
  };
};

/** @throws OperatorError that lists every invalid option */
export const parseForecastArguments = (given: ForecastArguments): Omit<ForecastInput, 'created' | 'recompute'> => {
  const errors: string[] = [];
  const { parsed, count, percent, quarter, checked } = optionParser(errors);

  const from = quarter('--from', given.from);
  const to = quarter('--to', given.to);
  if (from !== undefined && to !== undefined && from > to) {
    errors.push(`--from: ${quarterName(from)} is after --to ${quarterName(to)}`);
  }
  const last = count('--runs', given.runs, 1);
  const span: Span = {
    ...(last === undefined && (to ?? defaultSpan.from) >= defaultSpan.from && defaultSpan),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(last !== undefined && { last }),
  };

  const grades = parsed(
    '--grades',
    given.grades,
    (text) => {
      const limits = text.split(',').map((part) => part.trim());
      return limits.length === 4 && limits.every((limit) => NUMBER.test(limit))
        ? (limits.map(Number) as unknown as Rules['grades'])
        : undefined;
    },
    'four probabilities such as 0.10,0.20,0.35,0.50',
  );
  const rules: Rules = {
    expandPoint: percent('--expand-point', given.expandPoint) ?? defaultRules.expandPoint,
    expandLower: percent('--expand-lower', given.expandLower) ?? defaultRules.expandLower,
    contractPoint: percent('--contract-point', given.contractPoint) ?? defaultRules.contractPoint,
    margin: percent('--margin', given.margin) ?? defaultRules.margin,
    grades: grades ?? defaultRules.grades,
  };
  checked(() => checkRules(rules));
  const options = {
    minValues: count('--min-values', given.minValues, 1) ?? defaultForecastOptions.minValues,
  };
  const { model: name } = given;
  const model = name === undefined ? undefined : checked(() => findModel(name));

  if (errors.length > 0) throw new UsageError('Nothing was forecast:', errors);
  return { model, options, rules, span };
};
