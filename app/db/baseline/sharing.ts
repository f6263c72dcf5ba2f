import { callerId, callerTenant, ownRows, withoutStatistics } from './rows.ts';

/** The conditions that a share is with the caller and has not expired. */
const isWithCaller = `recipient_user_id = ${callerId} and tenant_id = ${callerTenant}
    and (expires_at is null or expires_at > now())`;

const isOfOwnDocument = `exists (select 1 from documents
    where documents.id = document_shares.document_id
      and documents.user_id = document_shares.user_id)`;

/**
 * Returns the condition that the document of a row is shared with the caller, and with `version`
 * that the version of the row is.
 */
function isShared(table: string, column: string, version?: string): string {
  const isOfVersion =
    version === undefined
      ? ''
      : `and (document_shares.version is null or document_shares.version = ${table}.${version})`;
  return `exists (select 1 from document_shares
    where document_shares.document_id = ${table}.${column} ${isOfVersion}
      and document_shares.recipient_user_id = ${callerId}
      and document_shares.tenant_id = ${callerTenant}
      and (document_shares.expires_at is null or document_shares.expires_at > now())
      and not exists (select 1 from sender_blocks
        where sender_blocks.user_id = document_shares.recipient_user_id
          and sender_blocks.tenant_id = document_shares.tenant_id
          and sender_blocks.sender_id = document_shares.user_id))`;
}

/** Shares of documents, and what they let recipients read. */
export const sharing = `
-- The users behind sharers' references; none if an e-mail address had no account.
create table share_recipients (
  user_id uuid not null,
  recipient_ref uuid not null,
  tenant_id text not null,
  recipient_user_id uuid,
  created_at timestamptz(3) not null default now(),
  fingerprint text,
  primary key (user_id, tenant_id, recipient_ref)
);
create index share_recipients_user on share_recipients (recipient_user_id);
${withoutStatistics('share_recipients', 'recipient_user_id')}
${ownRows('share_recipients')}
grant select, insert, update, delete on share_recipients to probatio_app, probatio_service;

-- Users whose shares another user does not want to see.
create table sender_blocks (
  user_id uuid not null,
  tenant_id text not null,
  sender_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (user_id, tenant_id, sender_id)
);
${ownRows('sender_blocks')}
grant select, insert, update, delete on sender_blocks to probatio_app, probatio_service;

-- Permissions of other users on documents, with the document key wrapped for each.
create table document_shares (
  id uuid primary key,
  user_id uuid not null,
  tenant_id text not null,
  document_id uuid not null,
  recipient_ref uuid not null,
  recipient_user_id uuid,
  wrapped_key text not null,
  permissions text[] not null,
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  version int,
  signature text,
  sharer_public_key text,
  sharer_signing_key text,
  constraint document_shares_recipient_ref unique (document_id, recipient_ref),
  constraint document_shares_document_id_foreign foreign key (document_id)
    references documents (id) on delete cascade
);
create index document_shares_received on document_shares (recipient_user_id, id);
${withoutStatistics('document_shares', 'recipient_user_id')}
create index document_shares_given on document_shares (user_id, id);
${ownRows('document_shares')}
create policy document_shares_by_recipient on document_shares for select to probatio_app
  using (${isWithCaller});
-- These policies are apart from that of the owner: the policies of documents query document_shares,
-- and a subquery in a policy that also covers reads would recurse.
create policy document_shares_insert on document_shares as restrictive for insert to probatio_app
  with check (${isOfOwnDocument});
create policy document_shares_update on document_shares as restrictive for update to probatio_app
  with check (${isOfOwnDocument});
grant select, insert, update, delete on document_shares to probatio_app, probatio_service;

-- Recipients read what is shared with them, unless they block the sender. Postgres tries permissive
-- policies in the reverse order of their names, so that the owner's are tried first.
create policy documents_by_share on documents for select to probatio_app
  using (${isShared('documents', 'id')});
create policy document_versions_by_share on document_versions for select to probatio_app
  using (${isShared('document_versions', 'document_id', 'version')});
create policy object_checks_by_share on object_checks for select to probatio_app
  using (${isShared('object_checks', 'document_id', 'version')});
`;
