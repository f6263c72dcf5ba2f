import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createApi } from '../../support/documents/uploads.ts';
import {
  chosenOf,
  countMessages,
  killAt,
  type OwnersProgram,
} from '../../support/network/killed-program.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { proofsOf, startAwayVault } from './away.ts';

const attached = [200, 200, 200];
const away = [410, 410, 200];

test('a month is wholly in the log or away, wherever its command is killed', async (t) => {
  const context = await startAwayVault(t);
  const { vault, month, partitions, append, newOwner } = context;
  const ownerUrl = vault.databases.owner;
  const auditor = await createApi(vault, {
    roles: ['auditor'],
    scopes: ['uploads:write', 'audit:read'],
  });
  const owner = newOwner();
  const resource = { type: 'upload', id: randomUUID() };
  const ids = [
    await append(owner, resource, true),
    await append(owner, resource, true),
    await append(owner, resource, false),
  ];
  await context.sealed();
  const statuses = async () => (await proofsOf(auditor, ids)).map(({ status }) => status);
  const whole = await proofsOf(auditor, ids);
  t.deepEqual(
    whole.map(({ status }) => status),
    attached,
  );

  async function end(verb: 'detach' | 'attach'): Promise<void> {
    const { code, stderr } = await partitions(verb, month);
    t.is(code, 0, stderr);
    t.deepEqual(await statuses(), verb === 'detach' ? away : attached);
  }

  const random = seededRandom(seed);
  const detach: OwnersProgram = ['app/cli.ts', 'partitions', 'detach', month];
  const attach: OwnersProgram = ['app/cli.ts', 'partitions', 'attach', month];
  const messages = {
    detach: await countMessages(t, detach, ownerUrl),
    attach: await countMessages(t, attach, ownerUrl),
  };
  const all = messages.detach + messages.attach;
  t.timeout(60_000 + Math.min(2 * rounds, all) * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} of ${messages.detach} and ${messages.attach}`);

  const kill = async (program: OwnersProgram, message: number) => {
    await killAt(t, program, { message, isSent: random() < 0.5, ownerUrl });
    const found = await statuses();
    t.true(
      [attached, away].map(String).includes(String(found)),
      `message ${message}: ${found.join()}`,
    );
  };
  for (const message of chosenOf(messages.detach, random)) {
    await kill(detach, message);
    await end('detach');
    await end('attach');
  }
  for (const message of chosenOf(messages.attach, random)) {
    await end('detach');
    await kill(attach, message);
    await end('attach');
  }
  t.deepEqual(await proofsOf(auditor, ids), whole);
});
