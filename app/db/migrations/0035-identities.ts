import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the signing keys of users, and what shares and their recipients keep of keys: a share the
 * sharer's signature and keys, a recipient id the fingerprint that its sharer was shown. Lets a
 * share be of one version.
 */
export class Migration0035Identities extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
-- Earlier key pairs get random bytes in place of a signing key: nobody can sign by them.
alter table sharing_keys no force row level security;
alter table sharing_keys disable trigger user;
alter table sharing_keys
  add signing_key text null,
  add wrapped_signing_key text null;
update sharing_keys set signing_key =
  encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'base64');
alter table sharing_keys alter signing_key set not null;
alter table sharing_keys enable trigger user;
alter table sharing_keys force row level security;

alter table replaced_keys no force row level security;
alter table replaced_keys disable trigger user;
alter table replaced_keys
  add signing_key text null,
  add wrapped_signing_key text null;
update replaced_keys set signing_key =
  encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'base64')
where kind = 'SHARING';
alter table replaced_keys enable trigger user;
alter table replaced_keys force row level security;
alter table replaced_keys drop constraint replaced_keys_pair;
alter table replaced_keys add constraint replaced_keys_pair check (
  (kind = 'SHARING') = (public_key is not null)
  and (kind = 'SHARING') = (signing_key is not null)
  and (wrapped_signing_key is null or kind = 'SHARING')
);

alter table share_recipients add fingerprint text null;
alter table document_shares
  add version int null,
  add signature text null,
  add sharer_public_key text null,
  add sharer_signing_key text null;

drop policy document_versions_shared on document_versions;
create policy document_versions_shared on document_versions for select to probatio_app
  using (exists (select 1 from document_shares
    where document_shares.document_id = document_versions.document_id
    and (document_shares.version is null or document_shares.version = document_versions.version)
    and document_shares.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid
    and document_shares.tenant_id = current_setting('app.tenant_id', true)
    and (document_shares.expires_at is null or document_shares.expires_at > now())
    and not exists (select 1 from sender_blocks
      where sender_blocks.user_id = document_shares.recipient_user_id
      and sender_blocks.tenant_id = document_shares.tenant_id
      and sender_blocks.sender_id = document_shares.user_id)));
`;
