import { rm, writeFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { markKey } from '../../app/restore/high-water-marks/mark-key.ts';
import { createLayout } from '../../app/storage/filesystem/layout.ts';
import { until } from '../../app/dev/processes/until.ts';
import { insertOverdue } from '../maintenance/uploads-in-bulk.ts';
import { send } from '../support/http/send.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.before(async (t) => {
  t.context = await startMaintenanceVault();
});
test.after.always((t) => t.context.stop());

interface Marks {
  readonly sealedEntries: number;
  readonly unmarkedEntries: number | null;
  readonly unmarkedAgeSeconds: number | null;
  readonly newest: {
    readonly id: string;
    readonly writtenAt: string;
    readonly ageSeconds: number;
    readonly state: string;
    readonly sealedEntries: number | null;
    readonly newestEntryId: string | null;
  } | null;
}

async function readMarks({ vault, keys }: MaintenanceVault): Promise<Marks> {
  const headers = { 'X-Internal-Api-Key': keys.admin };
  const { status, body, text } = await send('GET', `${vault.baseUrl}/v1/internal/marks`, {
    headers,
  });
  if (status !== 200) throw new Error(text);
  return body as Marks;
}

/** Waits until a mark covers every entry. */
async function untilMarked(context: MaintenanceVault): Promise<Marks> {
  let marks = await readMarks(context);
  const isCovered = async () => {
    marks = await readMarks(context);
    return marks.newest !== null && marks.sealedEntries > 0 && marks.unmarkedEntries === 0;
  };
  await until(isCovered, { what: 'a mark of every entry', timeoutMs: 60_000 });
  return marks;
}

test.serial('the newest mark is told with its age and the entry that it stands at', async (t) => {
  const { newest, sealedEntries, unmarkedAgeSeconds } = await untilMarked(t.context);
  const [log] = await t.context.sql(
    'select entry_id from audit_seals order by entry_id desc limit 1',
  );
  t.is(unmarkedAgeSeconds, null);
  t.like(newest, { state: 'valid', sealedEntries, newestEntryId: String(log?.['entry_id']) });
  const [row] = await t.context.sql('select mark_id from audit_marks');
  t.is(newest?.id, String(row?.['mark_id']));
  const ageSeconds = (Date.now() - Date.parse(newest?.writtenAt ?? '')) / 1_000;
  t.true(Math.abs(ageSeconds - (newest?.ageSeconds ?? 0)) < 5);
});

test.serial(
  'entries that are sealed while no mark is written are counted, with an age',
  async (t) => {
    const { sql, run } = t.context;
    const { newest } = await untilMarked(t.context);
    // No process takes the turn to write a mark before that time.
    await sql("update audit_marks set written_at = now() + interval '1 day'");
    await insertOverdue(sql, 1);
    t.is((await run('expire-uploads')).status, 200);
    let marks = await readMarks(t.context);
    const isSealed = async () => {
      marks = await readMarks(t.context);
      return marks.unmarkedEntries !== 0;
    };
    await until(isSealed, { what: 'entries without a mark', timeoutMs: 60_000 });
    t.is(marks.newest?.id, newest?.id);
    t.is(marks.unmarkedEntries, marks.sealedEntries - (marks.newest?.sealedEntries ?? 0));
    t.true((marks.unmarkedAgeSeconds ?? -1) >= 0);
    await sql('update audit_marks set written_at = now()');
    t.not((await untilMarked(t.context)).newest?.id, newest?.id);
  },
);

test.serial('a mark that the object store lacks or does not give is told as such', async (t) => {
  const { vault, sql } = t.context;
  const { newest } = await untilMarked(t.context);
  await sql("update audit_marks set written_at = now() + interval '1 day'");
  const object = createLayout(vault.storeDirectory).objectDirectory(markKey(newest?.id ?? ''));
  const unknown = { sealedEntries: null, newestEntryId: null };
  await rm(object, { recursive: true });
  const lost = await readMarks(t.context);
  t.like(lost, { unmarkedEntries: null, unmarkedAgeSeconds: null });
  t.like(lost.newest, { id: newest?.id, state: 'missing', ...unknown });
  await writeFile(object, 'no directory');
  t.like((await readMarks(t.context)).newest, { id: newest?.id, state: 'unreadable', ...unknown });
});
