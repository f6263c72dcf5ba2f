import type { ExecutionContext } from 'ava';
import { send } from '../../support/http/send.ts';
import type { AnsweredActions } from './answered-actions.ts';
import { assertNoViolation, query } from './audit-check.ts';
import { auditViolations, committedRows } from './audit-violations.ts';
import type { ReplicatedVault } from '../vault/replicated-vault.ts';
import { assertSealsVerify } from './seals-check.ts';

/** A vault of several apps, whose log is checked. */
type CheckedVault = Pick<ReplicatedVault, 'baseUrl' | 'baseUrls' | 'databases' | 'internalKey'>;

/**
 * Asserts, once no entry is pending, that every committed or confirmed action has exactly one
 * entry, sealed by a key while it was active.
 * @param random Returns a number from 0 to 1.
 */
export async function assertLog(
  t: ExecutionContext,
  vault: CheckedVault,
  answered: AnsweredActions,
  random: () => number,
): Promise<void> {
  await assertNoViolation(t, vault);
  for (const [what, text] of Object.entries(auditViolations)) {
    t.deepEqual(await query(vault, text), [], what);
  }
  await assertCounts(t, vault);
  await assertAnswered(t, vault, answered);
  await assertSealsVerify(t, vault, { answered: answered.proofs, random });
  for (const baseUrl of vault.baseUrls) await assertQueueEmpty(t, baseUrl, vault.internalKey);
}

async function assertCounts(t: ExecutionContext, vault: CheckedVault): Promise<void> {
  const counts: string[] = [];
  for (const [action, rows] of Object.entries(committedRows)) {
    const [found] = await query<{ readonly entries: string; readonly committed: string }>(
      vault,
      `select (select count(*) from audit_entries where action = '${action}') as entries,
         (select count(*) from ${rows}) as committed`,
    );
    t.is(found?.entries, found?.committed, action);
    counts.push(`${action} ${found?.entries}`);
  }
  t.log(counts.join(', '));
}

/** Asserts that every action confirmed in a response is in the log exactly once. */
async function assertAnswered(
  t: ExecutionContext,
  vault: CheckedVault,
  { actions }: AnsweredActions,
): Promise<void> {
  const rows = await query<{ readonly entry: string; readonly count: string }>(
    vault,
    `select action || ' ' || resource_id as entry, count(*) from audit_entries group by 1`,
  );
  const counts = new Map(rows.map(({ entry, count }) => [entry, Number(count)]));
  const wrong = [...actions].filter((action) => counts.get(action) !== 1);
  t.deepEqual(wrong, []);
}

async function assertQueueEmpty(
  t: ExecutionContext,
  baseUrl: string,
  internalKey: string,
): Promise<void> {
  const ask = async (path: string) => {
    const headers = { 'X-Internal-Api-Key': internalKey };
    const { body } = await send('GET', `${baseUrl}/v1/audit/proof/dlq/${path}`, { headers });
    return body;
  };
  t.like(await ask('stats'), { total: 0 });
  t.deepEqual(await ask('alerts'), { alerts: [] });
}
