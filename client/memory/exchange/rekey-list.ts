import type { FreshProof } from '../../http/fresh-proof.ts';
import type { Identity } from '../../identity/identity.ts';
import type { RekeyList } from '../../keys/keyring.ts';
import type { MasterKeys } from '../../keys/master-keys.ts';
import { changesOf, type RememberedChanges } from '../values/remembered.ts';
import { deriveReportKey } from './report-key.ts';
import { splitValues } from './portions.ts';
import type { Records } from './records.ts';
import { hashReport, sealReport } from './report.ts';

interface NewKeys {
  /** The new master key, and those that it replaces. */
  readonly keys: MasterKeys;
  /** The new identity, which signs the list. */
  readonly identity: Identity;
}

/**
 * Writes the list of what is in the vault under the keys of a rekey, before they are in force.
 * Resolves with what the keyring says of it.
 */
export async function writeRekeyList(
  records: Pick<Records, 'add'>,
  { keys, identity }: NewKeys,
  there: Partial<RememberedChanges>,
): Promise<RekeyList> {
  const writer = crypto.randomUUID();
  const reportKey = await deriveReportKey(keys);
  const [first = changesOf({}), ...rest] = splitValues(changesOf(there));
  let list: RekeyList | undefined;
  for (const portion of [first, ...rest]) {
    const number = (list?.number ?? 0) + 1;
    const previous = list?.hash ?? null;
    const report = { ...portion, previous, isStart: list === undefined, read: {} };
    const place = { writer, number };
    const record = await sealReport(reportKey, identity, place, report, { kind: 'list' });
    await records.add({ ...place, record }, undefined);
    list = { writer, number, hash: hashReport(record) };
  }
  if (list === undefined) throw new RangeError('A list has at least one record.');
  return list;
}

/** Removes all records but those of a list, which nobody needs after the rekey. */
export async function removeAllBut(
  records: Pick<Records, 'list' | 'remove'>,
  { writer }: RekeyList,
  proof: FreshProof,
): Promise<void> {
  const writers = new Set<string>();
  for await (const stored of records.list(0)) writers.add(stored.writer);
  writers.delete(writer);
  for (const other of writers) await records.remove(other, proof);
}
