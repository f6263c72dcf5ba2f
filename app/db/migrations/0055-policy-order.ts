import { Migration } from '@mikro-orm/migrations';

/**
 * Names the policies of shares so that the owner's are tried first: Postgres tries the permissive
 * policies of a table in the reverse order of their names.
 */
export class Migration0055PolicyOrder extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
alter policy documents_shared on documents rename to documents_by_share;
alter policy document_versions_shared on document_versions rename to document_versions_by_share;
alter policy object_checks_shared on object_checks rename to object_checks_by_share;
alter policy document_shares_recipient on document_shares rename to document_shares_by_recipient;
`;
