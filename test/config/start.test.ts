import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { idleApp, idleSigner, run } from './run-program.ts';

/** Creates a file as Kubernetes does, and returns the variable that names it. */
async function createTerminationLog(t: ExecutionContext) {
  const file = path.join(await temporaryDirectory(t), 'termination-log');
  await writeFile(file, 'the end before');
  return { env: { TERMINATION_LOG: file }, read: () => readFile(file, 'utf8') };
}

const wrong = {
  'app/main.ts': {
    env: { DATABASE_URL: 'mysql://app:jam-password@db/vault', PORT: '99999' },
    named: ['DATABASE_URL', 'DATABASE_SERVICE_URL', 'PORT', 'REDIS_URL', 'MAIL_URL', 'MAIL_FROM'],
  },
  'signer/main.ts': {
    env: { SIGNER_PIN: 'jam', SIGNER_SESSIONS: '99999' },
    named: ['SIGNER_PIN', 'SIGNER_SESSIONS', 'SIGNER_LIBRARY', 'SIGNER_SOCKET_PATH'],
  },
};

for (const [file, { env, named }] of Object.entries(wrong)) {
  test(`${file} with invalid settings names every problem, also to Kubernetes`, async (t) => {
    const terminationLog = await createTerminationLog(t);
    const { code, stdout, stderr } = await run({ file, env: { ...env, ...terminationLog.env } });
    t.is(code, 78);
    t.is(stdout, '');
    for (const name of named) t.regex(stderr, new RegExp(`^ +${name}: `, 'm'));
    t.notRegex(stderr, /jam|99999|\n +at /);
    t.is(`${await terminationLog.read()}\n`, stderr);
  });
}

test('a signer whose PIN file holds no PIN ends with the reason', async (t) => {
  const terminationLog = await createTerminationLog(t);
  const directory = await temporaryDirectory(t);
  const pinFile = path.join(directory, 'pin');
  await writeFile(pinFile, 'jam\n', { mode: 0o600 });
  const { SIGNER_PIN: _pin, ...signer } = idleSigner;
  const { code, stderr, stdout } = await run({
    file: 'signer/main.ts',
    env: {
      ...signer,
      ...terminationLog.env,
      SIGNER_PIN_FILE: pinFile,
      SIGNER_SOCKET_PATH: path.join(directory, 'signer.sock'),
    },
  });
  t.is(code, 78);
  t.regex(stderr, /\n {2}SIGNER_PIN_FILE: the value in the file has under 4 characters; /);
  t.is(`${await terminationLog.read()}\n`, stderr);
  t.notRegex(stdout + stderr, /jam/);
});

const unusable = [
  ['a foreign address', 'EADDRNOTAVAIL', /HOST is no address of this machine: /],
  ['a port in use', 'EADDRINUSE', /another process has the port of PORT: /],
  ['an internal port in use', 'EADDRINUSE', /another process has the port of HTTP_INTERNAL_PORT: /],
  ['a port of metrics in use', 'EADDRINUSE', /another process has the port of METRICS_PORT: /],
  ['a name that does not resolve', 'ENOTFOUND', /HOST does not resolve: /],
] as const;

for (const [index, [what, code, remedy]] of unusable.entries()) {
  test(`an app that cannot listen, on ${what}, says so in one line and exits with 1`, async (t) => {
    const terminationLog = await createTerminationLog(t);
    const taken = createServer().listen(0, '127.0.0.1');
    t.teardown(() => taken.close());
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    const addresses: readonly Record<string, string>[] = [
      { HOST: '192.0.2.1' },
      { PORT: port },
      { HTTP_INTERNAL_PORT: port, HTTP_INTERNAL_ROUTES: 'internal' },
      { METRICS_PORT: port },
      { HOST: 'nothing.invalid' },
    ];
    const outcome = await run({
      file: 'app/main.ts',
      env: {
        ...idleApp,
        ...terminationLog.env,
        LOG_LEVEL: 'fatal',
        DATABASE_URL: 'postgresql://app:jam-password@127.0.0.1:1/vault',
        ...addresses[index],
      },
    });
    t.is(outcome.code, 1);
    t.is(outcome.stderr, '');
    const line = JSON.parse(outcome.stdout) as { level: string; code: string; msg: string };
    t.like(line, { level: 'fatal', code });
    t.regex(line.msg, remedy);
    t.notRegex(outcome.stdout, /jam-password|"stack"|192\.0\.2|nothing\.invalid/);
    t.is(await terminationLog.read(), line.msg);
  });
}

test('a signer whose port of metrics is taken says so in one line and exits with 1', async (t) => {
  const terminationLog = await createTerminationLog(t);
  const directory = await temporaryDirectory(t);
  const taken = createServer().listen(0, '127.0.0.1');
  t.teardown(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, stdout, stderr } = await run({
    file: 'signer/main.ts',
    env: {
      ...idleSigner,
      ...terminationLog.env,
      LOG_LEVEL: 'fatal',
      SIGNER_METRICS_PORT: String(port),
      SIGNER_SOCKET_PATH: path.join(directory, 'signer.sock'),
    },
  });
  t.is(code, 1);
  t.is(stderr, '');
  const line = JSON.parse(stdout) as { level: string; code: string; msg: string };
  t.like(line, { level: 'fatal', code: 'EADDRINUSE' });
  t.regex(line.msg, /another process has the port of SIGNER_METRICS_PORT: /);
  t.is(await terminationLog.read(), line.msg);
});

const started = {
  'app/main.ts': {
    env: {
      ...idleApp,
      HTTP_TIMEOUT_SECONDS: '5',
      REDIS_PORT: 'tcp://10.0.0.7:6379',
      REDIS_SERVICE_HOST: '10.0.0.7',
    },
    unknown: ['HTTP_TIMEOUT_SECONDS'],
    weak: /^KEYS_RAW_FORM: /,
  },
  'signer/main.ts': {
    env: { ...idleSigner, SIGNER_TIMEOUT: '5', SIGNER_SERVICE_HOST: '10.0.0.7' },
    unknown: ['SIGNER_TIMEOUT'],
    weak: /^SIGNER_PIN: /,
  },
};

for (const [file, { env, unknown, weak }] of Object.entries(started)) {
  test(`${file} logs a line of weak settings and a line of unknown ones`, async (t) => {
    const socket = path.join(await temporaryDirectory(t), 'signer.sock');
    const { code, stdout } = await run({
      file,
      env: { ...env, SIGNER_SOCKET_PATH: socket },
      stopAfter: /"msg":"listening"/,
    });
    t.is(code, 0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { weaker?: string[]; variables?: string[] });
    const weaker = lines.flatMap((line) => (line.weaker === undefined ? [] : [line.weaker]));
    t.is(weaker.length, 1);
    t.true(weaker[0]?.some((line) => weak.test(line)));
    const variables = lines.flatMap((line) =>
      line.variables === undefined ? [] : [line.variables],
    );
    t.deepEqual(variables, [unknown]);
  });
}
