import { randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { until } from '../../app/dev/processes/until.ts';
import { inventEntry } from '../bench/harness/audit-entry.ts';
import { appending } from '../support/audit/log-rows.ts';

const entriesPerResource = 10;
const resourcesPerStatement = 200;

/**
 * Appends entries of users who are gone, and waits until apps have sealed them.
 * @param adminUrl Database URL of a login that bypasses row-level security.
 */
export async function sealHistory(adminUrl: string, entries: number): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    for (let made = 0; made < entries; made += resourcesPerStatement * entriesPerResource) {
      await append(client, Math.min(resourcesPerStatement, (entries - made) / entriesPerResource));
    }
    await until(
      async () => (await client.query('select from audit_queue limit 1')).rowCount === 0,
      { what: 'seals of the history', timeoutMs: 60_000 + entries * 5, intervalMs: 250 },
    );
    await client.query('vacuum analyze audit_log, audit_trails, audit_seals, audit_queue');
  } finally {
    await client.end();
  }
}

async function append(client: Client, resources: number): Promise<void> {
  const userId = randomUUID();
  const rows = Array.from({ length: resources }, () => randomUUID()).flatMap((resourceId) =>
    Array.from({ length: entriesPerResource }, (_, index) => {
      const [id, seq] = [uuidv7(), index + 1];
      const action = 'document.metadata_changed';
      const resource = { type: 'document', id: resourceId };
      const data = { version: seq, metadataHash: '0'.repeat(64) };
      const entry = inventEntry({ id, userId, action, resource, seq, data });
      return { id, resourceId, seq, text: canonicalize(entry) };
    }),
  );
  await client.query(
    appending(`
     select e.id, $5, 'default', 'document', e.resource_id, e.seq, 'document.metadata_changed',
       e.text
     from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[])
       as e (id, resource_id, seq, text)`),
    [
      rows.map(({ id }) => id),
      rows.map(({ resourceId }) => resourceId),
      rows.map(({ seq }) => seq),
      rows.map(({ text }) => text),
      userId,
    ],
  );
}
