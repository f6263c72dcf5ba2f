import { execFile } from 'node:child_process';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';

interface Outcome {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function runApp(env: NodeJS.ProcessEnv): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [projectFile('app/main.ts')], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test('a process with an invalid configuration names every problem and exits with 2', async (t) => {
  const { code, stdout, stderr } = await runApp({
    DATABASE_URL: 'mysql://app:jam-password@db/vault',
    PORT: '99999',
  });
  t.is(code, 2);
  t.is(stdout, '');
  for (const name of [
    'DATABASE_URL',
    'DATABASE_SERVICE_URL',
    'PORT',
    'REDIS_URL',
    'MAIL_DIRECTORY',
  ]) {
    t.regex(stderr, new RegExp(`^ +${name}: `, 'm'));
  }
  t.notRegex(stderr, /jam-password|99999|\n +at /);
});

test('a process that cannot listen logs the reason in one line and exits with 1', async (t) => {
  const { code, stdout, stderr } = await runApp({
    NODE_ENV: 'test',
    LOG_LEVEL: 'fatal',
    HOST: '192.0.2.1',
    DATABASE_URL: 'postgresql://app:jam-password@127.0.0.1:1/vault',
    DATABASE_SERVICE_URL: 'postgresql://service:jam-password@127.0.0.1:1/vault',
    REDIS_URL: 'redis://127.0.0.1:1',
    STORAGE_DIRECTORY: '/nowhere',
    SIGNER_SOCKET_PATH: '/nowhere/signer.sock',
    MAIL_DIRECTORY: '/nowhere',
    HTTP_PUBLIC_URL: 'http://vault.test',
  });
  t.is(code, 1);
  t.is(stderr, '');
  const { level, err } = JSON.parse(stdout) as { level: string; err: { code: string } };
  t.is(level, 'fatal');
  t.is(err.code, 'EADDRNOTAVAIL');
  t.notRegex(stdout, /jam-password/);
});
