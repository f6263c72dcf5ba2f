import { registerHooks } from 'node:module';
import ava, { type ExecutionContext } from 'ava';

/**
 * Lets several test files run in one worker of AVA, one after the other, as if each had a worker of
 * its own. Files that `runGroup` loads get, in place of AVA's `test`, one that collects their tests
 * and hooks. AVA then runs the tests of all files as tests of one file.
 *
 * Within a file the order is AVA's: `before` hooks, tests declared serial one by one, the others
 * beside each other, `after.always` hooks. Hooks around the whole file get the `t` of its first or
 * last test.
 */

/**
 * Tests of a file that run beside each other. More would not end sooner: the processors are busy,
 * and requests of the tests would begin to time out.
 */
const laneCount = 4;

type Body = (t: ExecutionContext, ...args: unknown[]) => unknown;
type Hook = (t: ExecutionContext) => unknown;

interface Case {
  readonly title: string;
  readonly run: (t: ExecutionContext) => unknown;
  readonly isSerial: boolean;
}

/** The tests and hooks of one file. */
class TestFile {
  readonly name: string;
  readonly before: Hook[] = [];
  readonly beforeEach: Hook[] = [];
  readonly afterEach: Hook[] = [];
  readonly after: Hook[] = [];
  readonly cases: Case[] = [];
  readonly #ended = Promise.withResolvers<void>();
  /** The context that `before` hooks made. */
  #context: unknown = {};
  #started: Promise<void> | undefined;
  #left = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Gives the tests to AVA. They start when `previous` resolves; resolves when all have ended. */
  declare(previous: Promise<void>): Promise<void> {
    this.#left = this.cases.length;
    if (this.#left === 0) return previous;
    const serial = this.cases.filter(({ isSerial }) => isSerial);
    const others = this.cases.filter(({ isSerial }) => !isSerial);
    let turn = previous;
    for (const each of serial) turn = this.#declareCase(each, turn);
    const lanes = Array.from({ length: laneCount }, () => turn);
    for (const [index, each] of others.entries()) {
      const lane = index % laneCount;
      lanes[lane] = this.#declareCase(each, lanes[lane] ?? turn);
    }
    return this.#ended.promise;
  }

  /** Gives one test to AVA, to start when `turn` resolves. Resolves when it has ended. */
  #declareCase({ title, run }: Case, turn: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    ava(`${this.name} › ${title}`, async (t) => {
      let isStarted = false;
      // AVA runs the teardown that was registered first as the last one.
      t.teardown(async () => {
        try {
          if (isStarted) await runAll(this.afterEach, t);
        } finally {
          resolve();
          this.#left -= 1;
          if (this.#left === 0) await this.#end(t);
        }
      });
      await turn;
      await (this.#started ??= this.#start(t));
      isStarted = true;
      t.context = copyOf(this.#context);
      try {
        for (const hook of this.beforeEach) await hook(t);
        await run(t);
      } catch (error) {
        logCauses(t, error);
        throw error;
      }
    });
    return promise;
  }

  async #start(t: ExecutionContext): Promise<void> {
    for (const hook of this.before) await hook(t);
    this.#context = t.context;
  }

  async #end(t: ExecutionContext): Promise<void> {
    try {
      t.context = this.#context;
      await runAll(this.after, t);
    } finally {
      this.#ended.resolve();
    }
  }
}

/** Runs all hooks, also after one has failed. Throws the first failure. */
async function runAll(hooks: readonly Hook[], t: ExecutionContext): Promise<void> {
  const failures: unknown[] = [];
  for (const hook of hooks) {
    try {
      await hook(t);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Logs the causes of an error, which AVA does not print. */
function logCauses(t: ExecutionContext, error: unknown): void {
  for (let at = error; at instanceof Error && at.cause instanceof Error; at = at.cause) {
    t.log(`caused by ${at.cause.name}: ${at.cause.message}`);
  }
}

/** AVA gives each test a shallow copy of the context that `before` hooks made. */
function copyOf(context: unknown): unknown {
  return typeof context === 'object' && context !== null ? { ...context } : context;
}

/** The file that is being loaded. */
let loading: TestFile;

const declareTest =
  (isSerial: boolean) =>
  (title: string, body: Body, ...args: unknown[]): void => {
    loading.cases.push({ title, run: (t) => body(t, ...args), isSerial });
  };

const hooks = {
  before: (hook: Hook) => void loading.before.push(hook),
  beforeEach: (hook: Hook) => void loading.beforeEach.push(hook),
  afterEach: { always: (hook: Hook) => void loading.afterEach.push(hook) },
  after: { always: (hook: Hook) => void loading.after.push(hook) },
  skip: (title: string) => ava.skip(`${loading.name} › ${title}`, () => undefined),
};

/** Stands for AVA's `test` in the files of a group. */
export default Object.assign(declareTest(false), hooks, {
  serial: Object.assign(declareTest(true), hooks),
});

/**
 * Loads test files and gives their tests to AVA.
 * @param files Of each file what its tests' titles begin with, and how it is loaded.
 */
export async function runGroup(
  files: readonly (readonly [name: string, load: () => Promise<unknown>])[],
): Promise<void> {
  const resolution = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'ava' && context.parentURL !== import.meta.url
        ? { url: import.meta.url, format: 'module-typescript', shortCircuit: true }
        : next(specifier, context),
  });
  const loaded: TestFile[] = [];
  for (const [name, load] of files) {
    loading = new TestFile(name);
    await load();
    loaded.push(loading);
  }
  resolution.deregister();
  // AVA takes no test that is declared later than the others.
  let previous = Promise.resolve();
  for (const file of loaded) previous = file.declare(previous);
}
