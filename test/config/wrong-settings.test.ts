import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { loadConfig } from '../../app/config/config.ts';
import { loadSignerConfig } from '../../signer/config/config.ts';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { appCases, rightApp } from './wrong/app-cases.ts';
import type { WrongSettings } from './wrong/wrong-settings.ts';
import { makeFiles, secret, type Files } from './wrong/files.ts';
import { rightSigner, signerCases } from './wrong/signer-cases.ts';

const test = anyTest as TestFn<{ readonly directory: string; readonly files: Files }>;

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-settings-'));
  t.context = { directory, files: await makeFiles(directory) };
});
test.after.always((t) => rm(t.context.directory, { recursive: true }));

/** Returns the problems of a configuration, each of which is a line. */
function problemsOf(load: () => unknown): readonly string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [heading, ...lines] = error.message.split('\n');
    if (heading !== 'The configuration is not usable:') throw error;
    return lines.map((line) => line.trim());
  }
}

const programs = {
  app: {
    right: () => rightApp,
    cases: appCases,
    load: loadConfig,
  },
  signer: {
    right: rightSigner,
    cases: signerCases,
    load: loadSignerConfig,
  },
};

for (const [name, { right, cases, load }] of Object.entries(programs)) {
  test(`the right settings of the ${name} have no problem`, (t) => {
    t.deepEqual(
      problemsOf(() => load(right(t.context.files))),
      [],
    );
  });

  test(`each wrong setting of the ${name} is one line with the remedy, and no secret`, (t) => {
    const { files } = t.context;
    for (const { what, env, problems } of cases(files)) {
      const found = problemsOf(() => load({ ...right(files), ...env }));
      t.deepEqual([...found].sort(), [...problems].sort(), what);
      for (const line of found) {
        t.false(line.includes(secret), what);
        t.regex(line, /^[A-Z0-9_]+: .*(; |\?$|must be )/, what);
      }
    }
  });

  test(`all problems of one start of the ${name} are reported at once`, (t) => {
    const { files } = t.context;
    const chosen = independent(cases(files));
    t.true(chosen.length >= 5);
    const env = Object.assign({}, right(files), ...chosen.map((one) => one.env)) as object;
    const found = problemsOf(() => load({ ...env }));
    t.deepEqual([...found].sort(), chosen.flatMap(({ problems }) => problems).sort());
  });
}

test('app and signer may share one environment', (t) => {
  const { SIGNER_SOCKET_PATH: _socket, ...app } = rightApp;
  const env = {
    ...app,
    ...rightSigner(t.context.files),
    DATABASE_OWNER_URL: 'postgresql://o@db/v',
  };
  t.deepEqual(loadConfig(env).remarks.unknown, []);
  t.deepEqual(loadSignerConfig(env).unknown, []);
});

test('the wrong settings are 40 or more', (t) => {
  const { files } = t.context;
  const count = appCases(files).length + signerCases(files).length;
  t.true(count >= 40, String(count));
});

/** Returns cases no two of which change the same variable or are reported for the same one. */
function independent(cases: readonly WrongSettings[]): readonly WrongSettings[] {
  const taken = new Set<string>();
  return cases.filter(({ env, problems }) => {
    const names = [
      ...Object.keys(env),
      ...problems.flatMap((line) => line.match(/[A-Z]+_[A-Z_]+/g) ?? []),
    ];
    const isFree = names.every((name) => !taken.has(name));
    if (isFree) for (const name of names) taken.add(name);
    return isFree;
  });
}
