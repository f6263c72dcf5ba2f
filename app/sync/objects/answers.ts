import type { z } from 'zod';
import { AppError } from '../../errors/app-error.ts';
import { withTexts, type JsonText } from '../../http/responses/json-text.ts';
import type { Applied, Conflict, ObjectView } from './schema.ts';

/** An answer with the stored text of an object, which is RFC 8785 text, instead of its data. */
type WithText<Answer, Text extends string | null> = Omit<Answer, 'data'> & { readonly data: Text };

export type ObjectText = WithText<z.output<typeof ObjectView>, string>;
/** The text is null for a deleted object. */
export type AppliedText = WithText<z.output<typeof Applied>, string | null>;
/** The text is null for a deleted object. */
export type ConflictText = Omit<z.output<typeof Conflict>, 'serverData'> & {
  readonly serverData: string | null;
};
/** The outcome of a write. */
export type Written = AppliedText | ConflictText;

/** Returns an answer as JSON text. Parsing and writing a large object again would take long. */
export function toJsonText(answer: ObjectText | AppliedText): JsonText {
  return withTexts(answer, { data: answer.data ?? 'null' });
}

/** Returns a conflict as an error. */
export function toError({ fields, serverData, ...members }: ConflictText): AppError {
  const texts = { fields: JSON.stringify(fields), serverData: serverData ?? 'null' };
  return new AppError('sync_conflict', { members, texts });
}
