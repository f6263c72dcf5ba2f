import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../../bytes/base64.ts';
import type { Bytes } from '../../bytes/bytes.ts';
import { hasCode } from '../../errors/vault-error.ts';
import { proofHeaders, type FreshProof } from '../../http/fresh-proof.ts';
import type { Http } from '../../http/http.ts';
import { readPages } from '../../http/pages.ts';
import type { ReportPlace } from './report.ts';

const path = '/v1/memory/records';

const Item = z.object({
  position: z.int().positive(),
  writer: z.guid(),
  number: z.int().positive(),
  record: z.string(),
});

/** A record as the vault keeps it. */
export interface StoredRecord extends ReportPlace {
  /** Place in the order in which the user's records were stored. */
  readonly position: number;
  readonly record: Bytes;
}

interface NewRecord extends ReportPlace {
  readonly record: Bytes;
  /** Number below which the writer's earlier records are removed. */
  readonly discardBefore?: number | undefined;
}

export type Records = ReturnType<typeof createRecords>;

/** Creates the requests for the records that the user's clients keep in the vault. */
export function createRecords(http: Http) {
  return {
    /** Yields the records after a position, in the order in which they were stored. */
    async *list(after: number): AsyncGenerator<StoredRecord, void, void> {
      const query = { cursor: String(after) };
      for await (const item of readPages(http, Item, { method: 'GET', path, query })) {
        yield { ...item, record: decodeBase64(item.record) };
      }
    },

    /**
     * Stores a record, in the name of the device that the session is bound to if `deviceId` is
     * given. Throws VaultError 409 memory_conflict if the writer has this number or a higher one.
     */
    async add(
      { writer, number, record, discardBefore }: NewRecord,
      deviceId: string | undefined,
    ): Promise<void> {
      const json = {
        writer,
        number,
        record: encodeBase64(record),
        ...(discardBefore !== undefined && { discardBefore }),
      };
      const headers: Record<string, string> =
        deviceId === undefined ? {} : { 'x-device-id': deviceId };
      await http.send({ method: 'POST', path, headers, json, repeatable: true });
    },

    /**
     * Removes all records of a writer, if there are any. Throws VaultError 401 reauth_required
     * unless `proof` is given or the login was within five minutes.
     */
    async remove(writer: string, proof: FreshProof): Promise<void> {
      try {
        const headers = proofHeaders(proof);
        await http.send({ method: 'DELETE', path: `${path}/${writer}`, headers });
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error;
      }
    },
  };
}
