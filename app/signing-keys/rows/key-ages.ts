import { sql } from 'kysely';
import type { SigningPurpose } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import type { KeyState } from '../../db/tables/keys.ts';

export interface KeyAges {
  /** Number of registered keys of a purpose in a state. */
  readonly counts: readonly {
    readonly purpose: SigningPurpose;
    readonly state: KeyState;
    readonly count: number;
  }[];
  /** Seconds since the active key of a purpose was activated. */
  readonly active: readonly { readonly purpose: SigningPurpose; readonly ageSeconds: number }[];
}

/** Reads how many keys are in each state, and how old those are that sign. */
export async function readKeyAges(tx: Tx): Promise<KeyAges> {
  const counts = await tx
    .selectFrom('signing_keys')
    .select(['purpose', 'state'])
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .groupBy(['purpose', 'state'])
    .execute();
  const active = await tx
    .selectFrom('signing_keys')
    .select('purpose')
    .select(
      sql<number>`extract(epoch from clock_timestamp() - activated_at)::float8`.as('ageSeconds'),
    )
    .where('state', '=', 'ACTIVE')
    .execute();
  return { counts, active };
}
