import type { z } from 'zod';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Act } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { checkValueOf, type EncryptionKeys } from './encryption-keys.ts';
import type { EscrowKey } from './escrow.ts';
import { created, escrowed } from './events.ts';
import {
  insertGeneration,
  listGenerations,
  storeEscrow,
  type RegisteredGeneration,
} from './generation-rows.ts';
import type { EncryptionKey } from './schema.ts';

type Request = ServiceRequest<InternalCaller>;
type View = z.input<typeof EncryptionKey>;

interface GenerationsOptions {
  readonly db: Database;
  readonly act: Act;
  readonly signer: SignerClient;
  readonly encryptionKeys: EncryptionKeys;
  readonly escrowKey: EscrowKey | undefined;
}

export type Generations = ReturnType<typeof createGenerations>;

/** Creates the service that lists, creates and escrows generations of the encryption key. */
export function createGenerations(options: GenerationsOptions) {
  const { db, act, signer, encryptionKeys, escrowKey } = options;

  async function list(): Promise<View[]> {
    const rows = await db.asService(listGenerations);
    return rows.map((row) => toView(row, encryptionKeys));
  }

  return {
    /** Lists all generations, oldest first. */
    list,

    /**
     * Creates the next generation in the token and registers it, with its escrow if an offline key
     * is configured. New values are encrypted with it 15 s later, or at once if no earlier key is
     * left. Throws SignerUnavailable or audit_backlog_full.
     */
    async create(request: Request): Promise<View> {
      act.assertWritable(request);
      await encryptionKeys.refresh();
      const generations = (await list()).map(({ generation }) => generation);
      const after = Math.max(0, ...generations);
      const made = await signer.encryptionKey(await signer.createEncryptionKey({ after }));
      const { generation, key } = made;
      const escrow = escrowKey?.encrypt(made);
      const isUsable = !encryptionKeys.isReady();
      await act.asService(request, async (tx) => {
        const row = { generation, checkValue: checkValueOf(key), escrow, isUsable };
        if (!(await insertGeneration(tx, row))) throw new Error('the generation exists already');
        const { internalKey } = request.caller;
        const events: RequestEvent[] = [created(generation, internalKey)];
        if (escrow !== undefined) events.push(escrowed(generation, escrow));
        return { answer: undefined, events };
      });
      await encryptionKeys.refresh();
      const view = (await list()).find((each) => each.generation === generation);
      if (view === undefined) throw new Error('the new generation is not registered');
      return view;
    },

    /**
     * Encrypts every key that this process has for the configured offline key, unless that was
     * done. Resolves with the number of these keys. Throws escrow_not_configured or
     * audit_backlog_full.
     */
    async escrow(request: Request): Promise<number> {
      if (escrowKey === undefined) throw new AppError('escrow_not_configured');
      await encryptionKeys.refresh();
      return act.asService(request, async (tx) => {
        const events: RequestEvent[] = [];
        for (const { generation, escrow_key: present } of await listGenerations(tx)) {
          const key = encryptionKeys.find(generation);
          if (key === undefined || present === escrowKey.publicKey) continue;
          const escrow = escrowKey.encrypt({ generation, key });
          await storeEscrow(tx, generation, escrow);
          events.push(escrowed(generation, escrow));
        }
        return { answer: events.length, events };
      });
    },
  };
}

function toView(row: RegisteredGeneration, { find }: EncryptionKeys): View {
  return {
    generation: row.generation,
    isAvailable: find(row.generation) !== undefined,
    createdAt: row.created_at,
    usableAt: row.usable_at,
    escrow: row.escrow,
    escrowKey: row.escrow_key,
  };
}
