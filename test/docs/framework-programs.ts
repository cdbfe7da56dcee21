/** Complete programs around the lines that `docs/guides/embedding.md` shows for each framework. */

const TEXT = 'the rest of your program';

interface Frame {
  readonly imports: string;
  readonly before: string;
  readonly after: string;
}

const frames: Readonly<Record<string, Frame>> = {
  express: {
    imports: "import express from 'express';",
    before: 'const program = express();\nprogram.use(express.json());',
    after: `program.get('/', (request, response) => response.send('${TEXT}'));\nreturn program.listen(port, '127.0.0.1');`,
  },
  koa: {
    imports: "import Koa from 'koa';",
    before: 'const program = new Koa();',
    after: `program.use((ctx) => (ctx.body = '${TEXT}'));\nreturn program.listen(port, '127.0.0.1');`,
  },
  fastify: {
    imports: "import Fastify from 'fastify';",
    before: '',
    after: `program.get('/', async () => '${TEXT}');\nawait program.listen({ port, host: '127.0.0.1' });\nreturn program.server;`,
  },
  nest: {
    imports: `import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
class Home {
  home() {
    return '${TEXT}';
  }
}
Controller()(Home);
Get()(Home.prototype, 'home', Object.getOwnPropertyDescriptor(Home.prototype, 'home'));
class Program {}
Module({ controllers: [Home] })(Program);`,
    before: 'const program = await NestFactory.create(Program, { logger: false });',
    after: "await program.listen(port, '127.0.0.1');\nreturn program.getHttpServer();",
  },
  hono: {
    imports: "import { serve } from '@hono/node-server';\nimport { Hono } from 'hono';",
    before: 'const program = new Hono();',
    after: `program.get('/', (c) => c.text('${TEXT}'));\nreturn serve({ fetch: program.fetch, port, hostname: '127.0.0.1' });`,
  },
};

/** Returns modules that export `start(app, port)`, by framework. `codes` are the documented lines by framework. */
export const frameworkPrograms = (codes: ReadonlyMap<string, string>): Map<string, string> =>
  new Map(
    Object.entries(frames).map(([name, { imports, before, after }]) => {
      const code = codes.get(name);
      if (code === undefined) throw new Error(`The page has no lines for ${name}`);
      const lines = code.split('\n');
      const ownImports = lines.filter((line) => line.startsWith('import '));
      const rest = lines.filter((line) => !line.startsWith('import '));
      const body = [before, ...rest, after].join('\n');
      return [name, [imports, ...ownImports, `export const start = async (app, port) => {\n${body}\n};\n`].join('\n')];
    }),
  );
