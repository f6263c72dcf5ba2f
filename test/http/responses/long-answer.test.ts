import test from 'ava';
import { z } from 'zod';
import { createHeavyWork } from '../../../app/async/heavy-work.ts';
import { Timestamp } from '../../../app/http/bodies/wire.ts';
import { JsonText } from '../../../app/http/responses/json-text.ts';
import { makeAnswer } from '../../../app/http/responses/long-answer.ts';

const Row = z.strictObject({ id: z.int(), at: Timestamp, note: z.string().optional() });
const List = z.array(Row);
const Page = z.strictObject({
  before: z.string(),
  rows: List,
  next: z.string().optional(),
  total: z.int(),
});

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ id, at: new Date(id), note: `"${id}"\u2028` }));

const make = (schema: z.ZodType, answer: unknown) => makeAnswer(createHeavyWork(), schema, answer);

for (const count of [0, 1, 100, 101, 200, 1_000]) {
  test(`a list of ${count} rows is the JSON text that it is at once`, async (t) => {
    const list = await make(List, rowsOf(count));
    t.is(textOf(list), JSON.stringify(List.parse(rowsOf(count))));
    const page = { before: 'é', rows: rowsOf(count), next: undefined, total: count };
    t.is(textOf(await make(Page, page)), JSON.stringify(Page.parse(page)));
  });
}

function textOf(answer: unknown): string {
  return answer instanceof JsonText ? answer.bytes.toString() : JSON.stringify(answer);
}

test('only long lists are made in steps', async (t) => {
  t.false((await make(List, rowsOf(100))) instanceof JsonText);
  t.true((await make(List, rowsOf(101))) instanceof JsonText);
});

test('a row that its schema refuses fails the whole answer, on any step', async (t) => {
  for (const index of [0, 99, 100, 299]) {
    const rows: unknown[] = rowsOf(300);
    rows[index] = { id: 'wrong' };
    await t.throwsAsync(make(List, rows), { instanceOf: z.ZodError });
    await t.throwsAsync(make(Page, { before: '', rows, total: 1 }), { instanceOf: z.ZodError });
  }
});

test('other work goes on while a long list is made', async (t) => {
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 0);
  await make(List, rowsOf(1_000));
  clearInterval(counting);
  t.true(turns >= 5, `${turns} turns`);
});
