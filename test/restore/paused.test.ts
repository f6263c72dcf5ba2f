import { rename, rm, writeFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { serviceRequest } from '../support/http/service-request.ts';
import { createDrillVault, untilAllSealed, type RunningVault } from './drill-vault.ts';
import { makeBackups, type Backups } from './drill.ts';

const test = (anyTest as TestFn<Backups>).serial;

test.before(async (t) => {
  t.context = await makeBackups();
});
test.after.always((t) => t.context.remove());

const settings = { AUDIT_ALERT_PAUSE_SECONDS: '1' };

async function isPaused({ services }: RunningVault): Promise<boolean> {
  const request = serviceRequest({ internalKey: 'test' });
  return (await services.dlq.alerts(request)).some(({ code }) => code === 'sealing_paused');
}

function untilPaused(vault: RunningVault, expected: boolean): Promise<unknown> {
  return until(async () => (await isPaused(vault)) === expected, {
    what: expected ? 'the alert sealing_paused' : 'the end of the alert',
    timeoutMs: 60_000,
  });
}

test('a start without the signer alerts that the process cannot seal', async (t) => {
  const drill = await createDrillVault(t, { ...t.context.newer, token: '/nowhere/signer.sock' });
  const vault = await drill.start(settings);
  await t.notThrowsAsync(untilPaused(vault, true));
});

test('a start without the object store alerts until the store is back', async (t) => {
  const drill = await createDrillVault(t, t.context.newer);
  const away = `${drill.storeDirectory}-away`;
  await rename(drill.storeDirectory, away);
  await writeFile(drill.storeDirectory, '');
  const vault = await drill.start(settings);
  await vault.append(1);
  await t.notThrowsAsync(untilPaused(vault, true));
  await rm(drill.storeDirectory);
  await rename(away, drill.storeDirectory);
  await untilAllSealed(drill.sql);
  await t.notThrowsAsync(untilPaused(vault, false));
});
