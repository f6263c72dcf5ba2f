import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import test from 'ava';
import { exitCodes, exitTable, programs } from '../../signer/protocol/process/exit-codes.ts';
import { idleApp as app, idleSigner as signer, run, type Run } from './run-program.ts';
import { databaseUrls } from '../../app/dev/postgres/database.ts';
import { testStack } from '../support/vault/stack.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

/** Returns a run of each program for each code that it ends with, by the names of the table. */
function runs(directory: string, usedSocket: string): Record<string, Record<string, Run>> {
  const socket = path.join(directory, 'signer.sock');
  const keys = { file: 'app/cli.ts', args: ['keys', 'list', '--key-file', '/nowhere'] };
  return {
    app: {
      ok: { file: 'app/main.ts', env: app, stopAfter: /"msg":"listening"/ },
      failed: { file: 'app/main.ts', env: { ...app, HOST: '192.0.2.1' } },
      refused: { file: 'app/main.ts' },
    },
    signer: {
      ok: {
        file: 'signer/main.ts',
        env: { ...signer, SIGNER_SOCKET_PATH: socket },
        stopAfter: /"msg":"listening"/,
      },
      failed: { file: 'signer/main.ts', env: { ...signer, SIGNER_SOCKET_PATH: usedSocket } },
      refused: { file: 'signer/main.ts' },
    },
    cli: {
      ok: { file: 'app/cli.ts', args: ['help'] },
      failed: keys,
      misused: { file: 'app/cli.ts', args: ['frobnicate'] },
      pending: {
        file: 'app/cli.ts',
        args: ['migrate', '--check'],
        // This database is nobody's vault.
        env: { DATABASE_URL: databaseUrls(testStack().postgres, 'postgres').app },
      },
      refused: { file: 'app/cli.ts', args: ['migrate'] },
    },
    signerCli: {
      ok: { file: 'signer/cli.ts', args: ['configuration'] },
      failed: { file: 'signer/cli.ts', args: ['list'], env: signer },
      misused: { file: 'signer/cli.ts', args: ['list', 'x'] },
      refused: { file: 'signer/cli.ts', args: ['list'] },
    },
  };
}

test('every program ends with the codes of the table, and with no others', async (t) => {
  const directory = await temporaryDirectory(t);
  const usedSocket = path.join(directory, 'used.sock');
  const server = createServer().listen(usedSocket);
  t.teardown(() => server.close());
  await once(server, 'listening');
  const all = runs(directory, usedSocket);
  for (const program of Object.keys(programs) as (keyof typeof programs)[]) {
    const meant = Object.entries(exitTable).filter(([, { meanings }]) => program in meanings);
    t.deepEqual(
      Object.keys(all[program] ?? {}),
      meant.map(([name]) => name),
      program,
    );
    const ended = meant.map(async ([name, { code: expected }]) => {
      const { code, stdout, stderr } = await run(all[program]?.[name] as Run);
      t.is(code, expected, `${program} ${name}: ${(stdout + stderr).slice(-500)}`);
    });
    await Promise.all(ended);
  }
});

test('each code has one meaning', (t) => {
  const codes = Object.values(exitCodes);
  t.deepEqual(codes, [...new Set(codes)]);
});
