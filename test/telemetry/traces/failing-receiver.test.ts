import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { startReceiver, type Answer, type Receiver } from '../../support/tracing/receiver.ts';
import { tracedTo } from '../../support/tracing/traced-vault.ts';
import { testStack } from '../../support/vault/stack.ts';

/** A queue that a few requests overflow, and an exporter that soon gives up. */
const small = {
  OTEL_BSP_MAX_QUEUE_SIZE: '4',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
  OTEL_EXPORTER_OTLP_TIMEOUT: '500',
};

const failing = 'the receiver of traces does not take them';
const working = 'the receiver of traces takes them again';

async function startTraced(t: ExecutionContext, { url }: Pick<Receiver, 'url'>) {
  const settings = { ...tracedTo({ url }), ...small };
  const vault = await startVaultProcesses(testStack(), { settings });
  t.teardown(() => vault[Symbol.asyncDispose]());
  const lines = async (msg: string): Promise<number> => {
    const text = await readFile(vault.logFile, 'utf8');
    return text.split('\n').filter((line) => line.includes(`"msg":"${msg}"`)).length;
  };
  return {
    app: vault.app,
    lines,
    /** Sends requests, all of which must be answered. */
    async ask(): Promise<void> {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => fetch(`${vault.baseUrl}/.well-known/jwks.json`)),
      );
      t.true(answers.every(({ status }) => status < 500));
    },
    until: (msg: string, count: number) =>
      until(async () => (await lines(msg)) === count, { what: msg, timeoutMs: 60_000 }),
  };
}

const failures: readonly (readonly [string, Answer])[] = [
  ['is slow', () => undefined],
  ['answers 500', (_request, response) => void response.writeHead(500).end()],
];

for (const [how, answer] of failures) {
  test(`a receiver that ${how} costs one line, and no request`, async (t) => {
    let isFailing = true;
    const receiver = await startReceiver((request, response) => {
      if (isFailing) answer(request, response);
      else response.end('{}');
    });
    t.teardown(() => receiver[Symbol.asyncDispose]());
    const vault = await startTraced(t, receiver);
    await vault.ask();
    await vault.until(failing, 1);
    const taken = receiver.texts.length;
    await until(async () => (await vault.ask(), receiver.texts.length > taken + 1), {
      what: 'further batches',
      timeoutMs: 60_000,
    });
    t.is(await vault.lines(failing), 1);

    isFailing = false;
    await until(async () => (await vault.ask(), (await vault.lines(working)) > 0), {
      what: 'the line of its return',
      timeoutMs: 60_000,
    });
  });
}

test('a receiver that is away costs one line and no request, and no stop waits', async (t) => {
  const receiver = await startReceiver();
  await receiver[Symbol.asyncDispose]();
  const vault = await startTraced(t, receiver);
  await vault.ask();
  await vault.until(failing, 1);
  await vault.ask();
  t.is(await vault.lines(failing), 1);
  await vault.app.stop();
  t.is(await vault.lines('stopped'), 1);
});
