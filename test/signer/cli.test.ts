import { createHash, createPublicKey } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import test from 'ava';
import { createTokenFixture, type TokenFixture } from '../support/audit/token-fixture.ts';

interface Failure {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function withFixture(use: (fixture: TokenFixture) => Promise<void>): Promise<void> {
  const fixture = await createTokenFixture();
  try {
    await use(fixture);
  } finally {
    await fixture.remove();
  }
}

async function failureOf(run: Promise<string>): Promise<Failure> {
  return run.then(
    (output) => Promise.reject(new Error(`the command did not fail: ${output}`)),
    (error: Failure) => error,
  );
}

function labelOf({
  purpose,
  generation,
}: {
  readonly purpose: string;
  readonly generation: number;
}): string {
  return `${purpose}-${generation}`;
}

test.serial('concurrent inits create one token and one key of each purpose', (t) =>
  withFixture(async (fixture) => {
    const outputs = await Promise.all([1, 2, 3].map(() => fixture.tool('init')));
    for (const line of ['initialised token', 'key audit-1', 'key token-1', 'key mac-1'])
      t.is(outputs.filter((output) => output.includes(line)).length, 1, line);
    t.deepEqual((await fixture.keys()).map(labelOf), ['audit-1', 'token-1']);
    t.true((await fixture.tool('self-test')).includes('ok mac'));
  }),
);

test.serial('concurrent keygens give every key a label of its own, without gaps', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    await Promise.all(
      ['audit', 'audit', 'audit', 'token', 'token'].map((each) => fixture.tool(`keygen ${each}`)),
    );
    t.deepEqual((await fixture.keys()).map(labelOf), [
      'audit-1',
      'audit-2',
      'audit-3',
      'audit-4',
      'token-1',
      'token-2',
      'token-3',
    ]);
  }),
);

test.serial(
  'a key that collides with a concurrent one is destroyed, and the next one created',
  (t) =>
    withFixture(async (fixture) => {
      await fixture.tool('init');
      await fixture.operate('contest', 'audit');
      t.deepEqual((await fixture.keys()).map(labelOf), [
        'audit-1',
        'audit-2',
        'audit-3',
        'token-1',
      ]);
      t.notRegex(await fixture.tool('self-test'), /FAILED/);
    }),
);

test.serial('list and export-public print the same key, by its id and by its label', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    for (const key of await fixture.keys()) {
      const spki = Buffer.from(key.publicKey, 'base64');
      t.is(key.fingerprint, createHash('sha256').update(spki).digest('hex'));
      t.is(key.keyId, key.fingerprint.slice(0, 32));
      const pem = await fixture.tool(`export-public ${key.keyId}`);
      t.deepEqual(createPublicKey(pem).export({ type: 'spki', format: 'der' }), spki);
      t.is(await fixture.tool(`export-public ${labelOf(key)}`), pem);
    }
  }),
);

test.serial('self-test reports the problems of a token for each key', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    await fixture.tool('keygen audit');
    t.is(
      await fixture.tool('self-test'),
      'ok log in\nok audit-1\nok audit-2\nok token-1\nok mac\nok encryption\n',
    );
    await fixture.operate('destroy', 'public', 'audit-1');
    await fixture.operate('make', 'token', '1');
    await fixture.operate('destroy', 'secret', 'mac-1');
    const { code, stdout } = await failureOf(fixture.tool('self-test'));
    t.is(code, 1);
    const lines = stdout.trim().split('\n');
    t.deepEqual(
      lines.map((line) => line.split(':')[0]),
      [
        'ok log in',
        'FAILED audit-1',
        'ok audit-2',
        'FAILED token-1',
        'FAILED token-1',
        'FAILED mac',
        'ok encryption',
      ],
    );
  }),
);

test.serial('self-test reports a failed login without printing the PIN', (t) =>
  withFixture(async (fixture) => {
    const without = await failureOf(fixture.tool('self-test'));
    t.is(without.code, 1);
    t.is(
      without.stdout,
      'FAILED log in: no token is labelled probatio test: run init, or check the label\n',
    );
    await fixture.tool('init');
    await writeFile(fixture.environment.SIGNER_PIN_FILE, 'not-the-right-pin');
    const { code, stdout, stderr } = await failureOf(fixture.tool('self-test'));
    t.is(code, 1);
    t.is(stdout, 'FAILED log in: C_Login: CKR_PIN_INCORRECT\n');
    t.is(stderr, '');
  }),
);

for (const command of ['--help', 'keygen -h']) {
  test.serial(`"${command}" prints the usage and does nothing`, (t) =>
    withFixture(async (fixture) => {
      t.regex(await fixture.tool(command), /^usage: node signer\/cli\.ts <command>/);
    }),
  );
}

const misuses = [
  '',
  'frobnicate',
  'toString',
  'keygen',
  'keygen mac',
  'keygen audit token',
  'list x',
];
for (const command of [...misuses, 'export-public', 'self-test now']) {
  test.serial(`"${command}" is refused with the usage`, (t) =>
    withFixture(async (fixture) => {
      const { code, stdout, stderr } = await failureOf(fixture.tool(command));
      t.is(code, 2);
      t.is(stdout, '');
      t.regex(stderr, /^\S.*\n\nusage: node signer\/cli\.ts <command>/);
    }),
  );
}

test.serial('a missing key and an invalid library are reported in one line', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const missing = await failureOf(fixture.tool('export-public audit-7'));
    t.is(missing.code, 1);
    t.is(missing.stderr, 'the token holds no key audit-7: see list\n');
    const none = await failureOf(
      fixture.tool('list', { SIGNER_LIBRARY: fixture.environment.SIGNER_PIN_FILE }),
    );
    t.is(none.code, 1);
    t.is(none.stderr.trim().split('\n').length, 1, none.stderr);
  }),
);
