import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { openDatabase, type Database, type Owner, type Tx } from '../../app/db/database.ts';
import { selectDocuments } from '../../app/documents/records/document-rows.ts';
import { explainPrepared, prepareStatement } from './prepared-plan.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let db: Database;
let owner: Owner;
let recipient: Owner;

const documents = 2_000;
const page = 50;

test.before(async () => {
  vault = await startReadyVault();
  db = await openDatabase({ ...vault.config.database, poolSize: 1 });
  owner = { userId: randomUUID(), tenantId: 'default' };
  recipient = { userId: randomUUID(), tenantId: 'default' };
  const sql = createSql(vault);
  await sql(
    `with added as (
       insert into documents (id, user_id, tenant_id, place)
       select gen_random_uuid(), $1, 'default', gen_random_uuid() from generate_series(1, $3)
       returning id
     ), versions as (
       insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
         object_version, file_size, file_hash, encrypted_metadata)
       select id, 1, $1, 'default', id || '/f', 'v', 1, id, '' from added
     )
     insert into document_shares
       (id, user_id, tenant_id, document_id, recipient_ref, recipient_user_id, wrapped_key,
         permissions)
     select gen_random_uuid(), $1, 'default', id, gen_random_uuid(), $2, '', '{}' from added`,
    [owner.userId, recipient.userId, documents],
  );
  await sql('analyze');
});

test.after.always(async () => {
  await db.close();
  await vault.stop();
});

const Plan: z.ZodType<PlanNode> = z.looseObject({
  'Relation Name': z.string().optional(),
  'Actual Loops': z.number(),
  'Shared Hit Blocks': z.number(),
  'Shared Read Blocks': z.number(),
  get Plans() {
    return z.array(Plan).optional();
  },
});

interface PlanNode {
  readonly 'Relation Name'?: string | undefined;
  readonly 'Actual Loops': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[] | undefined;
}

interface Explained {
  /** How often the plan looked at shares. */
  readonly shareLookups: number;
  /** The number of buffers that the plan read. */
  readonly buffers: number;
}

/** Runs a prepared query as a user, and returns what its plan did. */
function explain(caller: Owner, select: (tx: Tx) => ReturnType<typeof selectDocuments>) {
  return db.asUser(caller, async (tx): Promise<Explained> => {
    const statement = select(tx);
    const name = await prepareStatement(tx, statement);
    const plan = Plan.parse(await explainPrepared(tx, name, statement));
    const nodes = nodesOf(plan);
    return {
      shareLookups: nodes
        .filter((node) => node['Relation Name'] === 'document_shares')
        .reduce((sum, node) => sum + node['Actual Loops'], 0),
      buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    };
  });
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

const own = (tx: Tx) =>
  selectDocuments(tx)
    .where('documents.user_id', '=', owner.userId)
    .where('documents.tenant_id', '=', owner.tenantId);

test.serial('a list of one’s own documents looks at no share', async (t) => {
  const { shareLookups, buffers } = await explain(owner, (tx) =>
    own(tx).orderBy('documents.place', 'desc').limit(page),
  );
  t.log(`${buffers} buffers`);
  t.is(shareLookups, 0);
  t.true(buffers < 10 * page, `${buffers} buffers`);
});

test.serial('one of one’s own documents is read without a look at a share', async (t) => {
  const [first] = await db.asUser(owner, (tx) => own(tx).limit(1).execute());
  const { shareLookups, buffers } = await explain(owner, (tx) =>
    selectDocuments(tx).where('documents.id', '=', first?.document_id ?? ''),
  );
  t.log(`${buffers} buffers`);
  t.is(shareLookups, 0);
  t.true(buffers < 20, `${buffers} buffers`);
});

test.serial('a recipient still reads what the shares show', async (t) => {
  const { shareLookups } = await explain(recipient, own);
  t.true(shareLookups > 0);
  const received = await db.asUser(recipient, (tx) => own(tx).execute());
  t.is(received.length, documents);
});
