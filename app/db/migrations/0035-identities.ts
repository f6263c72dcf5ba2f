import { Migration } from '@mikro-orm/migrations';

/**
 * Adds the signing keys of users, and what shares and their recipients keep of keys: a share the
 * sharer's signature and keys, a recipient id the fingerprint that its sharer was shown.
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
  add signature text null,
  add sharer_public_key text null,
  add sharer_signing_key text null;
`;
