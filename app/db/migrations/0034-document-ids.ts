import { Migration } from '@mikro-orm/migrations';

/**
 * Lets clients choose the ids of documents: lists are in the order of a place of their own, and no
 * id is used again after its document is gone.
 */
export class Migration0034DocumentIds extends Migration {
  override up(): void {
    this.addSql(sql);
  }
}

const sql = `
-- Ids so far are in the order in which the documents were created.
alter table documents no force row level security;
alter table documents disable trigger user;
alter table documents add place uuid null;
update documents set place = id;
alter table documents alter place set not null;
alter table documents enable trigger user;
alter table documents force row level security;
drop index documents_user;
create index documents_user on documents (user_id, place);

alter table document_keywords no force row level security;
alter table document_keywords disable trigger user;
alter table document_keywords add place uuid null;
update document_keywords set place = document_id;
alter table document_keywords alter place set not null;
alter table document_keywords enable trigger user;
alter table document_keywords force row level security;
alter table document_keywords drop constraint document_keywords_pkey;
alter table document_keywords add primary key (user_id, keyword_hash, place);

create table removed_documents (
  id uuid not null,
  primary key (id)
);
alter table removed_documents enable row level security;
alter table removed_documents force row level security;
create policy removed_documents_shown on removed_documents for select to probatio_app
  using (true);
create policy removed_documents_insert on removed_documents for insert to probatio_app
  with check (true);
create policy removed_documents_service on removed_documents to probatio_service
  using (true)
  with check (true);
-- Nobody deletes a row: an id is used once.
grant select, insert on removed_documents to probatio_app, probatio_service;

create function keep_document_id() returns trigger language plpgsql as $$
begin
  insert into removed_documents (id) values (old.id) on conflict do nothing;
  return null;
end;
$$;
create trigger id_kept after delete on documents for each row execute function keep_document_id();
`;
