import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import {
  change,
  createDevice,
  createObject,
  createTwo,
  type SyncDevice,
} from '../support/sync/devices.ts';
import { openFeed, type FeedReader } from './feed/feed-reader.ts';
import { backUpObjects, tellRestored } from './restored.ts';

/** The tests are serial, because each begins an epoch of the vault that all share. */
const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

interface Item {
  readonly objectId: string;
  readonly version: number;
  readonly deleted?: true;
}

async function list(device: SyncDevice, query: string) {
  const { body } = await device.get(`/v1/sync?${query}`);
  const items = (body['objects'] as Item[]).map(({ objectId, version, deleted }) =>
    [objectId, version, ...(deleted ? ['deleted'] : [])].join(' '),
  );
  return { items, total: body['total'], cursor: String(body['nextCursor']) };
}

/** Resolves with the events once there are this many. */
async function untilEvents({ events }: FeedReader, count: number): Promise<string[]> {
  await until(() => events.length >= count, { what: `${count} events`, timeoutMs: 60_000 });
  return events.map(({ event, id }) => `${event} ${id}`);
}

/** Creates two devices, and makes the vault lose two changes that one of them has read. */
async function loseTwoChanges({ vault, sql }: { vault: TestVault; sql: Sql }) {
  const [reader, writer] = await createTwo(vault);
  const kept = await createObject(writer, {});
  const removed = await createObject(writer, {});
  await writer.write({ objectId: removed, version: 2, baseVersion: 1, deleted: true });
  const restore = await backUpObjects(sql, writer.api.caller.userId);
  await createObject(writer, {});
  await writer.write(change(kept, 1, { a: 'lost' }));
  const { cursor } = await list(reader, 'since=0');
  await restore();
  return { reader, writer, kept, removed, cursor, epoch: await tellRestored(vault) };
}

test.serial(
  'a cursor from before a restore skips no change, however many came since',
  async (t) => {
    const { reader, writer, kept, removed, cursor, epoch } = await loseTwoChanges(t.context);
    const ids = [await createObject(writer, {}), await createObject(writer, {})];
    const all = [`${kept} 1`, `${removed} 2 deleted`, ...ids.map((id) => `${id} 1`)];
    t.deepEqual(await list(reader, `since=${cursor}`), {
      items: all,
      total: 3,
      cursor: `${epoch}.5`,
    });
    const page = await list(reader, `since=${cursor}&limit=1`);
    t.deepEqual(page, { items: all.slice(0, 1), total: 3, cursor: `${epoch}.1` });
    t.deepEqual((await list(reader, `since=${page.cursor}`)).items, all.slice(1));
    t.deepEqual(await list(reader, `since=${epoch}.5`), {
      items: [],
      total: 3,
      cursor: `${epoch}.5`,
    });
    t.deepEqual((await list(reader, 'limit=100')).cursor, `${epoch}.5`);
  },
);

test.serial(
  'a plain number is a cursor of the first epoch, and 0 is the start of any',
  async (t) => {
    const { vault } = t.context;
    const device = await createDevice(vault);
    const first = await createObject(device, {});
    const epoch = await tellRestored(vault);
    const nobody = await createDevice(vault);
    for (const query of ['since=0', 'since=7', `since=${epoch}.0`, `since=${epoch}.7`, 'limit=1']) {
      t.deepEqual(await list(nobody, query), { items: [], total: 0, cursor: `${epoch}.0` }, query);
      const read = await list(device, query);
      t.deepEqual(read, { items: [`${first} 1`], total: 1, cursor: `${epoch}.1` }, query);
    }
    t.like(await list(device, 'since=1'), { items: [`${first} 1`], cursor: `${epoch}.1` });
  },
);

test.serial('a feed resumed after a restore announces it and sends all changes', async (t) => {
  const { vault } = t.context;
  const { reader, writer, cursor, epoch } = await loseTwoChanges(t.context);
  await createObject(writer, {});
  await createObject(writer, {});
  const told = ['ready 0', 'change 1', 'change 3', 'change 4', 'change 5'];
  const all = told.map((event) => event.replace(' ', ` ${epoch}.`));
  for (const from of [{ lastEventId: cursor }, { since: cursor }]) {
    const feed = await openFeed(t, vault, reader, from);
    t.deepEqual(await untilEvents(feed, 5), all);
    feed.leave();
  }
  const resumed = await openFeed(t, vault, reader, { lastEventId: `${epoch}.4`, since: cursor });
  t.deepEqual(await untilEvents(resumed, 2), [`ready ${epoch}.4`, `change ${epoch}.5`]);
  const { items } = await list(reader, `since=${epoch}.4`);
  t.is(items.length, 1, 'a list accepts the cursor of a feed');
});

test.serial('an open feed announces a restore before later changes', async (t) => {
  const { vault } = t.context;
  const [reader, writer] = await createTwo(vault);
  await createObject(writer, {});
  const feed = await openFeed(t, vault, reader);
  const [ready = ''] = await untilEvents(feed, 1);
  const epoch = await tellRestored(vault);
  await createObject(writer, {});
  t.deepEqual(await untilEvents(feed, 4), [
    ready,
    `ready ${epoch}.0`,
    `change ${epoch}.1`,
    `change ${epoch}.2`,
  ]);
});

test.serial('a quiet feed announces a restore at its next poll', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  await createObject(device, {});
  const feed = await openFeed(t, vault, device);
  await untilEvents(feed, 1);
  const epoch = await tellRestored(vault);
  t.deepEqual((await untilEvents(feed, 3)).slice(1), [`ready ${epoch}.0`, `change ${epoch}.1`]);
});

test.serial('every epoch has another name and leaves an entry', async (t) => {
  const { vault, sql } = t.context;
  const epochs = [await tellRestored(vault), await tellRestored(vault)];
  t.not(epochs[0], epochs[1]);
  t.deepEqual(await sql('select id, epoch from sync_epochs'), [{ id: 1, epoch: epochs[1] }]);
  const entries = await entriesOf(sql, { action: 'vault.restored' });
  t.deepEqual(
    entries.slice(-2).map(({ actor, data, resourceId }) => ({ actor, data, resourceId })),
    epochs.map((epoch) => ({
      actor: { type: 'system', id: 'cli' },
      data: { epoch },
      resourceId: epoch,
    })),
  );
});
