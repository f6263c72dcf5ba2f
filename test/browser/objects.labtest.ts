import test from 'ava';
import type { BrowserContext } from 'puppeteer-core';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { startBrowserLab } from './lab.ts';
import type { Tab } from './tab.ts';
import { createUser } from './user.ts';

const limitMs = 180_000;
const dayMs = 24 * 60 * 60 * 1000;

const lab = await startBrowserLab();
test.after.always(() => lab.stop());

/** The browser context whose profile is stored on disk. */
const disk = lab.browser.defaultBrowserContext();

/** Opens a tab for a new user with a device. `place` names the object store and that device. */
async function enter(context: BrowserContext) {
  const tab = await lab.openTab(context);
  const credentials = await createUser(lab.vault, tab);
  const deviceId = await tab.run('addDevice', { name: 'Laptop' });
  const logIn = (later: Tab) => later.run('logIn', { ...credentials, deviceId });
  return { tab, credentials, place: { name: credentials.email, deviceId }, logIn };
}

/** Logs the given user in on a second device in another browser. */
async function enterElsewhere(credentials: Credentials) {
  const tab = await lab.openTab();
  await tab.run('logIn', credentials);
  const deviceId = await tab.run('addDevice', { name: 'Phone' });
  await tab.run('openObjects', { name: credentials.email, deviceId });
  return { tab, deviceId };
}

test.serial('offline changes survive a reload and reach another device', async (t) => {
  t.timeout(limitMs);
  const { tab, credentials, place, logIn } = await enter(disk);
  await tab.run('openObjects', place);
  const known = await tab.run('createObject', { data: { title: 'Lease' } });
  await tab.run('syncObjects');
  const other = await enterElsewhere(credentials);
  await other.tab.run('syncObjects');
  t.is(await other.tab.run('listen', { deviceId: other.deviceId }), 'ready');

  await tab.page.setOfflineMode(true);
  const made = await tab.run('createObject', { data: { title: 'Made offline' } });
  await tab.run('changeObject', { objectId: known, data: { rent: 900 } });
  await t.throwsAsync(tab.run('syncObjects'), { code: 'network_error' });
  await tab.page.setOfflineMode(false);
  await tab.reload();
  t.false(await tab.run('isLoggedIn'));
  await logIn(tab);
  await tab.run('openObjects', place);
  t.deepEqual(await tab.run('pendingKinds'), ['change', 'create']);
  t.like(await tab.run('syncObjects'), { sent: 2, conflicts: 0 });
  t.deepEqual(await tab.run('pendingKinds'), []);

  const heard = [await other.tab.run('hear'), await other.tab.run('hear')];
  t.deepEqual(new Set(heard.map((change) => change?.objectId)), new Set([known, made]));
  await other.tab.run('syncObjects');
  const data = { title: 'Lease', rent: 900 };
  t.deepEqual(await other.tab.run('readObject', { objectId: known }), data);
  t.deepEqual(await other.tab.run('readObject', { objectId: made }), { title: 'Made offline' });
  t.deepEqual(lab.takeProblems(), []);
});

test.serial('a second tab can open the store once the first tab is closed', async (t) => {
  t.timeout(limitMs);
  const { tab, place, logIn } = await enter(disk);
  await tab.run('openObjects', place);
  const objectId = await tab.run('createObject', { data: { title: 'Lease' } });
  const second = await lab.openTab(disk);
  await logIn(second);
  const early = second.run('openObjects', { ...place, patienceMs: 500 });
  await t.throwsAsync(early, { code: 'store_in_use' });
  await tab.close();
  await second.run('openObjects', place);
  t.deepEqual(await second.run('readObject', { objectId }), { title: 'Lease' });
  t.deepEqual(lab.takeProblems(), []);
});

test.serial('a forgotten store is empty, and tabs that use it get store_deleted', async (t) => {
  t.timeout(limitMs);
  const { tab, place, logIn } = await enter(disk);
  await tab.run('openObjects', place);
  const sent = await tab.run('createObject', { data: { title: 'Sent' } });
  await tab.run('syncObjects');
  await tab.run('createObject', { data: { title: 'Not sent' } });
  const second = await lab.openTab(disk);
  await second.run('forgetObjects', place);
  const late = tab.run('createObject', { data: { title: 'Too late' } });
  await t.throwsAsync(late, { code: 'store_deleted' });

  await logIn(second);
  await second.run('openObjects', place);
  t.deepEqual(await second.run('listObjects'), []);
  await second.run('syncObjects');
  t.deepEqual(await second.run('listObjects'), [sent]);
  t.deepEqual(lab.takeProblems(), []);
});

test.serial('a full device refuses new objects and keeps all stored ones', async (t) => {
  t.timeout(limitMs);
  // Uses a new context, as Chromium remembers an origin's quota for a while.
  const { tab, place, logIn } = await enter(await lab.browser.createBrowserContext());
  const devtools = await tab.page.createCDPSession();
  const { origin } = lab;
  await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 8 * 2 ** 20 });
  await tab.run('openObjects', place);
  const kept: string[] = [];
  const fill = async () => {
    for (let index = 0; index < 1_000; index++) {
      const data = { page: index, text: 'x'.repeat(2 ** 16) };
      kept.push(await tab.run('createObject', { data }));
    }
  };
  await t.throwsAsync(fill, { code: 'store_full' });
  t.true(kept.length > 0);
  t.deepEqual(await tab.run('listObjects'), kept);

  await devtools.send('Storage.overrideQuotaForOrigin', { origin });
  await tab.reload();
  await logIn(tab);
  await tab.run('openObjects', place);
  t.deepEqual(await tab.run('listObjects'), kept);
  kept.push(await tab.run('createObject', { data: { title: 'There is room again' } }));
  t.deepEqual(await tab.run('listObjects'), kept);
  t.like(await tab.run('syncObjects'), { sent: kept.length });
  t.deepEqual(lab.takeProblems(), []);
});

test.serial('a device with a wrong clock sends its changes with the vault’s time', async (t) => {
  t.timeout(limitMs);
  const { tab, place } = await enter(disk);
  await tab.run('openObjects', { ...place, clockAheadMs: 3 * dayMs });
  const sentAt: number[] = [];
  tab.page.on('request', (request) => {
    const body = JSON.parse(request.postData() ?? '{}') as { readonly changedAt?: string };
    const { changedAt } = body;
    if (changedAt !== undefined) sentAt.push(Date.parse(changedAt));
  });
  const objectId = await tab.run('createObject', { data: { title: 'Lease' } });
  await tab.run('syncObjects');
  await tab.run('changeObject', { objectId, data: { rent: 900 } });
  await tab.run('syncObjects');
  t.is(sentAt.length, 1);
  for (const time of sentAt) t.true(Math.abs(time - Date.now()) < dayMs);
  t.deepEqual(lab.takeProblems(), []);
});
