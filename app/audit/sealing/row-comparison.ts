import { z } from 'zod';
import { isRecordedAt } from '../../audit-trail/recorded-time.ts';

/** The columns of an entry and of its trail that its text repeats. */
export interface EntryRow {
  readonly id: string;
  readonly ownerId: string;
  readonly tenantId: string;
  /** Null if the trail is missing. */
  readonly resourceType: string | null;
  readonly resourceId: string | null;
  readonly seq: number;
  readonly action: string;
  /** By the clock of the database, which no login can set. */
  readonly createdAt: Date;
}

/** The names of the columns, for a query of `audit_log` with `audit_trails` for a comparison. */
export const comparedColumns = [
  'audit_log.id',
  'audit_log.user_id as ownerId',
  'audit_log.tenant_id as tenantId',
  'audit_trails.resource_type as resourceType',
  'audit_trails.resource_id as resourceId',
  'audit_log.seq',
  'audit_log.action',
  'audit_log.created_at as createdAt',
] as const;

/**
 * Returns whether the text of an entry says what its row says. By its row an entry belongs to the
 * owner whose row-level security let it in: a text that names somebody else, another resource,
 * number, action or time is a forgery. Returns true for a text that is no entry, which the signer
 * refuses.
 */
export function agreesWithRow(text: string, row: EntryRow): boolean {
  const entry = parse(text);
  if (entry === undefined) return true;
  const { id, tenant, resource, seq, action, timestamp } = entry;
  return (
    id === row.id &&
    tenant === row.tenantId &&
    resource.owner === row.ownerId &&
    resource.type === row.resourceType &&
    resource.id === row.resourceId &&
    seq === row.seq &&
    action === row.action &&
    isRecordedAt(new Date(timestamp), row.createdAt)
  );
}

/** The members of an entry that its row repeats. */
const RepeatedMembers = z.object({
  id: z.unknown(),
  tenant: z.unknown(),
  resource: z.object({ owner: z.unknown(), type: z.unknown(), id: z.unknown() }),
  seq: z.unknown(),
  action: z.unknown(),
  timestamp: z.string(),
});

function parse(text: string): z.output<typeof RepeatedMembers> | undefined {
  try {
    return RepeatedMembers.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
