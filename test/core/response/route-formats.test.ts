/** Tests that every format in the table is written and documented. */
import { expect } from 'chai';
import { dataRoute, type Route } from '../../../core/contracts/plugin.js';
import { FORMATS, type FormatName, frameworkParameters } from '../../../core/registry/route-defaults.js';
import { routeFormats } from '../../../core/response/route-formats.js';

const list = dataRoute({
  path: '/rows',
  operationId: 'listRows',
  summary: 'Rows',
  response: {
    description: 'Rows.',
    schema: {
      type: 'object',
      required: ['data'],
      properties: {
        data: { type: 'array', items: { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } } },
      },
    },
    example: { data: [{ a: 1 }] },
  },
  handler: async () => ({ data: [{ a: 1 }] }),
}) as Route;

const names = (route: Route) => routeFormats(route, true).map(({ format }) => format.name);

describe('routeFormats', () => {
  it('has every format of the table for a list, JSON first', () => {
    expect(names(list)).to.deep.equal(Object.keys(FORMATS));
    expect(names(list)[0]).to.equal('json');
  });

  it('has the same formats as the "format" parameter', () => {
    expect(frameworkParameters(list)['format']!.schema['enum']).to.deep.equal(names(list));
  });

  it('has the media type of the table, and a description of each format other than JSON', () => {
    for (const { format, schema } of routeFormats(list, true)) {
      expect(format.mediaType).to.equal(FORMATS[format.name as FormatName].mediaType);
      expect(Boolean(schema?.['description']), format.name).to.equal(format.name !== 'json');
    }
  });
});
