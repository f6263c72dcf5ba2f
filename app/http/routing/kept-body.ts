import { z } from 'zod';
import { isObject } from '../../json/json-values.ts';

/**
 * A response as it is kept under an Idempotency-Key. A member that repeats the member of the same
 * name in the request is null here: whoever may have the response sends the same request again.
 */
const KeptBody = z.strictObject({ answer: z.unknown(), same: z.array(z.string()) });

/** Returns the text of a response to keep. */
export function toKept(answer: unknown, requested: unknown): string {
  if (!isObject(answer) || !isObject(requested)) return JSON.stringify({ answer, same: [] });
  const same = Object.keys(answer).filter(
    (name) => typeof answer[name] === 'string' && answer[name] === requested[name],
  );
  const shortened = Object.fromEntries(same.map((name) => [name, null]));
  return JSON.stringify({ answer: { ...answer, ...shortened }, same });
}

/** Returns the response of a kept text. */
export function fromKept(text: string, requested: unknown): unknown {
  const { answer, same } = KeptBody.parse(JSON.parse(text));
  if (!isObject(answer) || !isObject(requested)) return answer;
  return { ...answer, ...Object.fromEntries(same.map((name) => [name, requested[name]])) };
}
