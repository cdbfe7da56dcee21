import { dataRoute, type Route } from 'metro-forecast-api/plugin';
import { type Forecast, type ForecastRun, forecasts, nullable, percent, record, text } from '../collections.js';
import { cbsaParameter, completedRuns, difference, listResponse, marketNotFound, requireMarket } from './shared.js';

const contributionsOf = (run: ForecastRun | undefined, forecast: Forecast | undefined): ReadonlyMap<string, number> =>
  new Map(
    (run?.inputs ?? []).flatMap(({ name }, i) => {
      const contribution = forecast?.contributions?.[i];
      return contribution === undefined ? [] : [[name, contribution] as const];
    }),
  );

type Made = readonly [ForecastRun | undefined, Forecast | undefined];

const driversOf = (current: Made, prior: Made) => {
  const before = contributionsOf(...prior);
  return [...contributionsOf(...current)].map(([input, contribution_pp]) => {
    const prior_contribution_pp = before.get(input) ?? null;
    const change_pp = prior_contribution_pp === null ? null : difference(contribution_pp, prior_contribution_pp);
    return { input, contribution_pp, prior_contribution_pp, change_pp };
  });
};

export const mainDriverOf = (current: Made, prior: Made) => {
  const [main] = driversOf(current, prior).sort((a, b) => Math.abs(b.change_pp ?? 0) - Math.abs(a.change_pp ?? 0));
  return { driver: main?.change_pp == null ? null : main.input, driver_pp: main?.change_pp ?? null };
};

export const mainDriverProperties = {
  driver: { ...nullable(text), description: 'Model input whose contribution changed most.' },
  driver_pp: {
    type: ['number', 'null'],
    description: 'Signed change in the contribution of `driver`, in percentage points.',
  },
} as const;

const driverRow = {
  title: 'Driver',
  ...record({
    run_id: { type: 'integer' },
    point: { ...percent, description: 'Point forecast of the run, in percent.' },
    input: { ...text, description: 'Name of the model input.' },
    contribution_pp: {
      type: 'number',
      description:
        'Contribution to `point`, in percentage points. All contributions add up to `point`, apart from rounding.',
    },
    prior_contribution_pp: {
      type: ['number', 'null'],
      description: 'Contribution in the previous run, in percentage points.',
    },
    change_pp: { type: ['number', 'null'], description: '`contribution_pp` - `prior_contribution_pp`.' },
  }),
};

export const driverRoutes: readonly Route[] = [
  dataRoute({
    path: '/markets/{cbsa}/drivers',
    operationId: 'getMarketDrivers',
    vintages: true,
    summary: 'What each input of the model contributes to the newest forecast of one market',
    description:
      'Contributions are terms of the regression, converted from logarithms to percent. They describe how the model computed ' +
      'the forecast and are not causal effects. The list is empty if the newest run does not forecast the market, or if its ' +
      'model has no contributions.',
    parameters: { path: { cbsa: cbsaParameter } },
    errors: [marketNotFound],
    response: listResponse('One row per input.', driverRow, {
      run_id: 20254,
      point: 3.05,
      input: 'growth_4q',
      contribution_pp: 1.06,
      prior_contribution_pp: 1.31,
      change_pp: -0.25,
    }),
    handler: async ({ cbsa }, { snapshot }) => {
      await requireMarket(snapshot, cbsa);
      const [run, priorRun] = await completedRuns(snapshot);
      if (!run) return { data: [] };
      const forecast = await snapshot.get(forecasts, [run.id, cbsa]);
      if (!forecast) return { data: [] };
      const before = priorRun && (await snapshot.get(forecasts, [priorRun.id, cbsa]));
      return {
        data: driversOf([run, forecast], [priorRun, before]).map((row) => ({
          run_id: run.id,
          point: forecast.point,
          ...row,
        })),
      };
    },
  }),
];
