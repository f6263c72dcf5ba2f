import { Migration } from '@mikro-orm/migrations';

/** Adds the senders whom users block, and hides what these senders share. */
export class Migration0022SenderBlocks extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
create table sender_blocks (
  user_id uuid not null,
  tenant_id text not null,
  sender_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, tenant_id, sender_id)
);

alter table sender_blocks enable row level security;
alter table sender_blocks force row level security;
create policy sender_blocks_owner on sender_blocks to probatio_app
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true))
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and tenant_id = current_setting('app.tenant_id', true));
create policy sender_blocks_service on sender_blocks to probatio_service
  using (true)
  with check (true);

drop policy documents_shared on documents;
create policy documents_shared on documents for select to probatio_app
  using (exists (select 1 from document_shares where document_shares.document_id = documents.id
    and document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and document_shares.tenant_id = current_setting('app.tenant_id', true)
    and (document_shares.expires_at is null or document_shares.expires_at > now())
    and not exists (select 1 from sender_blocks
      where sender_blocks.user_id = document_shares.recipient_user_id
      and sender_blocks.tenant_id = document_shares.tenant_id
      and sender_blocks.sender_id = document_shares.user_id)));
drop policy document_versions_shared on document_versions;
create policy document_versions_shared on document_versions for select to probatio_app
  using (exists (select 1 from document_shares
    where document_shares.document_id = document_versions.document_id
    and document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and document_shares.tenant_id = current_setting('app.tenant_id', true)
    and (document_shares.expires_at is null or document_shares.expires_at > now())
    and not exists (select 1 from sender_blocks
      where sender_blocks.user_id = document_shares.recipient_user_id
      and sender_blocks.tenant_id = document_shares.tenant_id
      and sender_blocks.sender_id = document_shares.user_id)));

grant select, insert, update, delete on sender_blocks to probatio_app, probatio_service;
`;
