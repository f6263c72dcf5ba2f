import test from 'ava';
import { findExcess, type PlanNode } from './plan.ts';

const scan = (members: Partial<PlanNode>): PlanNode => ({
  'Node Type': 'Index Scan',
  'Relation Name': 'documents',
  'Index Cond': '(user_id = $1)',
  'Plan Rows': 5_000,
  ...members,
});

function above(type: string, ...Plans: readonly PlanNode[]): PlanNode {
  return { 'Node Type': type, 'Plan Rows': 10, Plans };
}

test('a sequential scan of a table that grows is found, also under a limit', (t) => {
  const plan = above('Limit', scan({ 'Node Type': 'Seq Scan', 'Plan Rows': 1 }));
  t.deepEqual(findExcess(plan), ['reads all of documents']);
});

test('a sequential scan of a small table passes', (t) => {
  const plan = scan({ 'Node Type': 'Seq Scan', 'Relation Name': 'sync_epochs' });
  t.deepEqual(findExcess(plan), []);
});

test('rows that a limit ends early pass', (t) => {
  t.deepEqual(findExcess(above('Limit', above('LockRows', scan({})))), []);
});

for (const type of ['Sort', 'Aggregate', 'Hash', 'WindowAgg']) {
  test(`rows that a limit does not end early are found: ${type}`, (t) => {
    const found = findExcess(above('Limit', above(type, scan({}))));
    t.deepEqual(found, ['reads 5000 rows of documents']);
  });
}

test('a part of a statement that runs to its end is found under a limit', (t) => {
  const plan = above('Limit', scan({ 'Parent Relationship': 'SubPlan' }));
  t.deepEqual(findExcess(plan), ['reads 5000 rows of documents']);
});

test('an index that is walked past rows that do not match is found', (t) => {
  const { 'Index Cond': _condition, ...walk } = scan({ Filter: '(place = $1)' });
  t.deepEqual(findExcess(above('Limit', walk)), [
    'walks an index of documents through rows that do not match',
  ]);
});
