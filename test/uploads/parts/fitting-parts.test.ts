import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import { openDatabase, type Database, type Owner } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import {
  assertFits,
  claimPart,
  keepClaim,
  recordPart,
  type PartClaim,
} from '../../../app/uploads/parts/claims.ts';
import { assertWhole, loadParts } from '../../../app/uploads/parts/recorded-parts.ts';
import { loadSession } from '../../../app/uploads/sessions/session-rows.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { bytesOf, complete, minPart, openSession, putPart } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { startPart } from './slow-part.ts';

const test = anyTest as TestFn<{
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly db: Database;
}>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault), db: await openDatabase(vault.config.database) };
});
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

test('parts that arrive together fit together, or are refused', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 2 * minPart + 10, 3);
  const answers = await Promise.all(
    [minPart + 4, minPart + 4, 8].map((size, index) =>
      putPart(api, sessionId, index + 1, bytesOf(size)),
    ),
  );
  const accepted = answers.filter(({ status }) => status === 200);
  t.true(accepted.length > 0 && accepted.length < 3);
  const settled = new Map(accepted.map(({ body }) => [Number(body.partNumber), Number(body.size)]));
  for (const number of [1, 2, 3].filter((part) => !settled.has(part))) {
    const { body } = await putPart(api, sessionId, number, bytesOf(1));
    const expected = /expected (\d+)/.exec(JSON.stringify(body.details))?.[1];
    if (body.code === 'invalid_part_size') {
      t.is((await putPart(api, sessionId, number, bytesOf(Number(expected)))).status, 200);
    }
  }
  t.is((await complete(api, sessionId)).status, 200);
});

test('a part whose claim expired is refused if accepted parts leave no room for it', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 2 * minPart + 10, 3);
  const first = startPart(vault, api, `/v1/uploads/${sessionId}/parts/1`, {
    'content-length': minPart + 4,
  });
  await until(
    async () =>
      (await sql('select 1 from upload_parts where session_id = $1', [sessionId])).length > 0,
    { what: 'the claim', timeoutMs: 60_000 },
  );
  t.is((await putPart(api, sessionId, 2, bytesOf(minPart + 9))).body.code, 'invalid_part_size');
  await until(
    async () => {
      // The running request may renew its claim before the other part arrives.
      await sql('update upload_parts set claimed_until = now() where session_id = $1', [sessionId]);
      return (await putPart(api, sessionId, 2, bytesOf(minPart + 9))).status === 200;
    },
    { what: 'the other part to be accepted', timeoutMs: 60_000 },
  );
  first.request.end(bytesOf(minPart + 4));
  const late = await first.answer;
  t.is(late.status, 400);
  t.like(late.body, {
    code: 'invalid_part_size',
    details: [{ message: `received ${minPart + 4} bytes; expected ${minPart} bytes` }],
  });
  t.is((await putPart(api, sessionId, 1, bytesOf(minPart))).status, 200);
  t.is((await putPart(api, sessionId, 3, bytesOf(1))).status, 200);
  t.is((await complete(api, sessionId)).status, 200);
});

/** One step of requests that receive parts: sizes are bytes above the smallest size of the part. */
const steps = fc.array(
  fc.record({
    does: fc.constantFrom('claim', 'claim', 'record', 'record', 'release', 'expire'),
    part: fc.integer({ min: 1, max: 4 }),
    above: fc.integer({ min: 0, max: 20 }),
  }),
  { minLength: 4, maxLength: 20 },
);

/** Carries out the steps on a new session and returns the codes of the refusals. */
async function receiveParts(
  { db, sql }: { readonly db: Database; readonly sql: Sql },
  owner: Owner,
  sessionId: string,
  plan: readonly { readonly does: string; readonly part: number; readonly above: number }[],
): Promise<string[]> {
  const claims = new Map<number, PartClaim & { readonly size: number }>();
  const refused: string[] = [];

  async function take({ does, part, above }: (typeof plan)[number]): Promise<void> {
    const claim = claims.get(part);
    if (does === 'claim') {
      const size = (part === 4 ? 1 : minPart) + above;
      const target = { sessionId, partNumber: part };
      const taken = await db.asUser(owner, async (tx) => {
        const found = await claimPart(tx, owner, target, size);
        const session = await loadSession(tx, owner, sessionId);
        if ('claimId' in found) await assertFits(tx, session, part, size);
        return found;
      });
      if ('claimId' in taken) claims.set(part, { ...taken, size });
    } else if (claim !== undefined && does === 'record') {
      const { size } = claim;
      const sha256 = randomBytes(32).toString('base64');
      await db.asUser(owner, (tx) =>
        recordPart(tx, owner, claim, { size, etag: 'e', sha256 }, new Date()),
      );
    } else if (claim !== undefined && does === 'release') {
      await keepClaim(db, owner, claim).release();
    } else if (does === 'expire') {
      await sql(
        `update upload_parts set claimed_until = now()
         where session_id = $1 and part_number = $2 and stored_at is null`,
        [sessionId, part],
      );
    }
  }

  for (const step of plan) {
    try {
      await take(step);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refused.push(error.code);
    }
  }
  return refused;
}

test('whatever claims are lost or expire, the recorded parts can be completed', async (t) => {
  const { vault, db, sql } = t.context;
  const api: Api = await createApi(vault);
  const owner = api.caller;
  const seen = new Set<string>();
  const holds = fc.asyncProperty(steps, async (plan) => {
    const sessionId = await openSession(t, api, 3 * minPart + 30, 4);
    const refused = await receiveParts({ db, sql }, owner, sessionId, plan);
    for (const code of refused) seen.add(code);
    await sql('delete from upload_parts where session_id = $1 and stored_at is null', [sessionId]);
    await sql(`update upload_sessions set status = 'ABORTED' where id = $1`, [sessionId]);
    await db.asUser(owner, async (tx) => {
      const session = await loadSession(tx, owner, sessionId);
      const parts = await loadParts(tx, owner, sessionId);
      try {
        assertWhole(session, parts);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'invalid_parts') throw error;
      }
    });
    return !refused.includes('parts_cannot_fit');
  });
  await t.notThrowsAsync(fc.assert(holds, { numRuns: 40 }));
  t.true(seen.has('invalid_part_size'), 'the steps made sizes collide');
});
