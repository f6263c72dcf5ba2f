import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { createTurns } from '../../../app/async/turns.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { createIsolationCheck } from '../../../app/db/isolation/check.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { inheritedEnvironment } from '../../../app/dev/processes/node-process.ts';
import { productionSettings } from '../../support/vault/production.ts';
import { createOwnRoles, type OwnRoles } from './own-roles.ts';
import { wrongDatabases, wrongSettings, type WrongStart } from './wrong-starts.ts';

const processesAtOnce = 4;

let roles: OwnRoles;

test.before(async () => {
  roles = await createOwnRoles();
});
test.after.always(() => roles[Symbol.asyncDispose]());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the app as a process, which must end by itself. */
function start(settings: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const env = {
    ...inheritedEnvironment(),
    ...productionSettings,
    DATABASE_URL: roles.url(roles.app),
    DATABASE_SERVICE_URL: roles.url(roles.service),
    DATABASE_APP_ROLE: roles.app,
    DATABASE_SERVICE_ROLE: roles.service,
    REDIS_URL: 'redis://127.0.0.1:1',
    STORAGE_DIRECTORY: '/nowhere',
    SIGNER_SOCKET_PATH: '/nowhere/signer.sock',
    MAIL_DIRECTORY: tmpdir(),
    ...settings,
  };
  const args = [projectFile('app/main.ts')];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function assertRefused(t: ExecutionContext, { settings, remedy, what }: WrongStart) {
  const { code, stdout, stderr } = await start(settings);
  t.is(code, 78, `${what}: ${stdout}${stderr}`);
  t.is(stderr, '', what);
  const lines = stdout.trim().split('\n');
  t.is(lines.length, 1, `${what}: ${stdout}`);
  const { level, msg } = JSON.parse(lines[0] ?? '') as { level: string; msg: string };
  t.is(level, 'fatal', what);
  t.regex(msg, remedy, what);
  t.notRegex(stdout, /secret|another@/, what);
}

test.serial(
  'a start with wrong URLs or role names ends with 78 and names the remedy',
  async (t) => {
    const turns = createTurns(processesAtOnce);
    const all = await wrongSettings(roles);
    await Promise.all(all.map((wrong) => turns.take(() => assertRefused(t, wrong))));
  },
);

test.serial('a start on wrong roles or policies ends with 78 and names the remedy', async (t) => {
  for (const wrong of wrongDatabases(roles)) {
    await roles.sql(...(wrong.make ?? []));
    // A process for each of them would take a minute; the check of all is the same.
    if (wrong.asProcess === true) await assertRefused(t, wrong);
    else t.regex((await check())?.text ?? '', wrong.remedy, wrong.what);
    await roles.sql(...(wrong.undo ?? []));
  }
  t.is(await check(), undefined, 'the database is as it was');
});

/** Checks the isolation as a start does. */
async function check() {
  const options = { url: roles.url(roles.app), serviceUrl: roles.url(roles.service), poolSize: 1 };
  const db = await openDatabase(options);
  try {
    return await createIsolationCheck(db, roles)();
  } finally {
    await db.close();
  }
}
