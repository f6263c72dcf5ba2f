import { Migration } from '@mikro-orm/migrations';

/** Keeps what the client says of the file before it was encrypted, without revealing it. */
export class Migration0036ContentCommitments extends Migration {
  override up(): void {
    this.addSql('alter table document_versions add content_commitment text null;');
  }
}
