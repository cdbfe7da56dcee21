/**
 * US recessions since 1948, from peak month to trough month. Source: National Bureau of Economic Research (NBER),
 * https://www.nber.org/research/data/us-business-cycle-expansions-and-contractions
 */

/** @type {NonNullable<import('../../../../core/pages/data-views/drawing.js').ChartOptions['shades']>} */
export const recessions = {
  label: 'Recession (NBER)',
  spans: [
    ['1948-11-01', '1949-10-01'],
    ['1953-07-01', '1954-05-01'],
    ['1957-08-01', '1958-04-01'],
    ['1960-04-01', '1961-02-01'],
    ['1969-12-01', '1970-11-01'],
    ['1973-11-01', '1975-03-01'],
    ['1980-01-01', '1980-07-01'],
    ['1981-07-01', '1982-11-01'],
    ['1990-07-01', '1991-03-01'],
    ['2001-03-01', '2001-11-01'],
    ['2007-12-01', '2009-06-01'],
    ['2020-02-01', '2020-04-01'],
  ],
};
