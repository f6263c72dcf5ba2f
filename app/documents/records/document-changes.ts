import { compileOnce } from '../../db/compile-once.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { commitWith } from '../../db/transaction.ts';
import type { DocumentRow, VersionRow } from './document-rows.ts';

/** Seals the current version of a locked document, as `changing` says. */
export const markSealed = changing('status', 'sealed_at', 'proof_id');
/** Changes the metadata of the current version of a locked document, as `changing` says. */
export const changeMetadata = changing('encrypted_metadata');

/** Names a version of a document. */
type VersionKey = Pick<VersionRow, 'document_id' | 'version' | 'user_id' | 'tenant_id'>;

/**
 * Creates the function that changes columns of the current version of a locked document, together
 * with the commit. It returns the changed document.
 */
function changing<Column extends keyof VersionRow>(...columns: readonly Column[]) {
  type Change = Pick<VersionRow, Column>;
  const update = compileOnce((values: Change & VersionKey, db) =>
    db
      .updateTable('document_versions')
      .set(Object.fromEntries(columns.map((column) => [column, values[column]])))
      .where('document_id', '=', values.document_id)
      .where('version', '=', values.version)
      .where('user_id', '=', values.user_id)
      .where('tenant_id', '=', values.tenant_id)
      .compile(),
  );
  return (tx: Tx, row: DocumentRow, change: Change): DocumentRow => {
    const { document_id, version, user_id, tenant_id } = row;
    commitWith(tx, update(tx, { ...change, document_id, version, user_id, tenant_id }));
    return revise(tx, { ...row, ...change });
  };
}

/**
 * Makes the row's version the current one of a locked document, and increments its revision,
 * together with the commit. Returns the changed document.
 */
export function revise(tx: Tx, row: DocumentRow): DocumentRow {
  const revision = row.revision + 1;
  const { document_id: id, version, user_id: userId, tenant_id: tenantId } = row;
  commitWith(tx, updateRevision(tx, { id, version, revision, userId, tenantId }));
  return { ...row, revision };
}

interface Revision extends Owner {
  readonly id: string;
  readonly version: number;
  readonly revision: number;
}

const updateRevision = compileOnce((row: Revision, db) =>
  db
    .updateTable('documents')
    .set({ version: row.version, revision: row.revision })
    .where('id', '=', row.id)
    .where('user_id', '=', row.userId)
    .where('tenant_id', '=', row.tenantId)
    .compile(),
);
