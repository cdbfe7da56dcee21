import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { skip } from '../support/skip.js';

const program = new URL('../../cli/engine.js', import.meta.url).href;

/** A process cannot restore a changed priority, so the test runs in a child process. */
const script = (workedMs: number) => `
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
const { yieldToEventLoop } = await import(${JSON.stringify(program)});
const priorities = () => {
  const threads = readdirSync('/proc/self/task').map(Number);
  const others = threads.filter((thread) => thread !== process.pid).map((thread) => getPriority(thread));
  return { loop: getPriority(process.pid), others };
};
const before = priorities();
yieldToEventLoop(${workedMs});
setTimeout(() => console.log(JSON.stringify({ before, after: priorities() })), 1500);
`;

interface Priorities {
  readonly loop: number;
  readonly others: readonly number[];
}

/** Prints whether the TickObjects of `process.nextTick` survive several garbage collections. */
const ticks = (prepare: string) => `
import { createHook } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
const { keepTicksFast } = await import(${JSON.stringify(program)});
const created = [];
const hook = createHook({
  init: (id, type, trigger, resource) => { if (type === 'TickObject') created.push(new WeakRef(resource)); },
}).enable();
${prepare};
hook.disable();
for (let i = 0; i < 4; i++) {
  await delay(10);
  gc();
}
console.log(JSON.stringify(created.map((object) => object.deref() !== undefined)));
`;

const OPTIMIZED = 1 << 4;
/** Node 24 and later have a second optimizing compiler, which pauseOptimization() does not disable. */
const HAS_ONE_COMPILER = Number(process.versions.node.split('.')[0]) < 24;

const optimized = (resume: string) => `
import { setTimeout as delay } from 'node:timers/promises';
const { pauseOptimization, resumeOptimization } = await import(${JSON.stringify(program)});
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const isOptimized = () => {
  for (let i = 0; i < 100_000; i++) sum([i, 1, 2]);
  return (%GetOptimizationStatus(sum) & ${OPTIMIZED}) > 0;
};
// Without this directive, V8 would inline sum instead of compiling it separately.
%NeverOptimizeFunction(isOptimized);
pauseOptimization();
const before = isOptimized();
${resume};
let after = false;
for (let i = 0; i < 1000 && !after; i++) {
  await delay(10);
  after = isOptimized();
}
console.log(JSON.stringify([before, after]));
`;

describe('pauseOptimization', () => {
  const results = (resume: string) => {
    const args = ['--allow-natives-syntax', '--input-type=module', '--eval', optimized(resume)];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  };

  it('turns optimization off until resumeOptimization() is called', () => {
    expect(results('resumeOptimization()')).to.deep.equal([!HAS_ONE_COMPILER, true]);
  });

  it('turns optimization on again during a long start', () => {
    expect(results('')).to.deep.equal([!HAS_ONE_COMPILER, true]);
  });
});

describe('keepTicksFast', () => {
  const kept = (prepare: string) => {
    const args = ['--expose-gc', '--input-type=module', '--eval', ticks(prepare)];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  };

  it('keeps the object of a tick from being collected', () => {
    expect(kept('process.nextTick(() => undefined)')).to.deep.equal([false]);
    expect(kept('keepTicksFast()')).to.deep.equal([true]);
  });
});

describe('yieldToEventLoop', () => {
  const prioritiesAfter = (workedMs: number) => {
    const args = ['--input-type=module', '--eval', script(workedMs)];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as {
      readonly before: Priorities;
      readonly after: Priorities;
    };
  };

  it('gives all other threads a lower priority than the event loop', function () {
    if (!existsSync('/proc/self/task')) skip(this, 'only Linux lists the threads of a process');
    const { before, after } = prioritiesAfter(1);
    expect(before.others).to.include(before.loop);
    expect(after.loop).to.equal(before.loop);
    expect(after.others.length).to.be.above(0);
    expect(new Set(after.others)).to.deep.equal(new Set([19]));
  });

  it('changes no priority before the process has used enough processor time', function () {
    if (!existsSync('/proc/self/task')) skip(this, 'only Linux lists the threads of a process');
    const { before, after } = prioritiesAfter(60_000);
    expect(new Set(after.others)).to.deep.equal(new Set(before.others));
  });

  it('does not keep the process alive', () => {
    const last = `(await import(${JSON.stringify(program)})).yieldToEventLoop(60_000);`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', last], { timeout: 30_000 });
  });
});
