import { z } from 'zod';
import type { HeavyWork } from '../../async/heavy-work.ts';
import { JsonText, withTexts } from './json-text.ts';

/**
 * Rows that are checked and written as JSON at once, which takes about two milliseconds. A page of
 * the usual length needs no second step.
 */
const rowsAtOnce = 100;

interface List {
  /** The member of the answer that has the rows; undefined if the answer is the list. */
  readonly name: string | undefined;
  readonly rows: readonly unknown[];
}

/**
 * Checks what a route answers with its schema and returns it, or its JSON text if it is a long
 * list. Long lists are made in steps, with rests between them, so that no client delays the
 * responses to other clients for long. JSON text that a route made itself is returned as it is.
 */
export async function makeAnswer(
  heavyWork: HeavyWork,
  schema: z.ZodType,
  answer: unknown,
): Promise<unknown> {
  if (answer instanceof JsonText) return answer;
  const list = listIn(schema, answer);
  if (list === undefined || list.rows.length <= rowsAtOnce) return schema.parse(answer);
  const { name, rows } = list;
  const texts: string[] = [];
  let others: object = {};
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const some = rows.slice(start, start + rowsAtOnce);
    await heavyWork.run(() => {
      if (name === undefined) {
        texts.push(innerText(schema.parse(some)));
      } else {
        others = schema.parse({ ...(answer as object), [name]: some }) as object;
        texts.push(innerText(Reflect.get(others, name)));
      }
    });
  }
  const text = `[${texts.join(',')}]`;
  return name === undefined ? new JsonText(text) : withTexts(others, { [name]: text });
}

/** Returns the list that an answer is, or the first list among its members. */
function listIn(schema: z.ZodType, answer: unknown): List | undefined {
  if (schema instanceof z.ZodArray && Array.isArray(answer)) {
    return { name: undefined, rows: answer };
  }
  if (!(schema instanceof z.ZodObject)) return undefined;
  for (const [name, rows] of Object.entries(answer as object)) {
    if (Array.isArray(rows)) return { name, rows };
  }
  return undefined;
}

/** Returns the JSON text of a list without its brackets. */
function innerText(rows: unknown): string {
  return JSON.stringify(rows).slice(1, -1);
}
