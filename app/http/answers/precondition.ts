import { AppError } from '../../errors/app-error.ts';
import type { Reply } from '../requests/request.ts';

/** The states in which a change is wanted (If-Match, RFC 9110 §13.1.1): any, or those of these tags. */
export type IfMatch = '*' | readonly string[];

const entityTag = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const entityTags = new RegExp(
  `^[ \\t,]*(?:${entityTag}(?:[ \\t]*,[ \\t,]*${entityTag})*[ \\t,]*)?$`,
);

/** The entity tag of something that counts its changes. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** The answer, sent with its version as the entity tag. */
export async function withETag<Answer extends { readonly version: number }>(
  reply: Reply,
  answer: Promise<Answer>,
): Promise<Answer> {
  const { version } = await answer;
  reply.set('ETag', etagOf(version));
  return answer;
}

/** Undefined without the header. Throws invalid_request where it is no list of entity tags. */
export function parseIfMatch(header: string | undefined): IfMatch | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  if (!entityTags.test(header)) throw new AppError('invalid_request');
  return header.match(new RegExp(entityTag, 'g')) ?? [];
}

/**
 * The last check before a change, of what is locked. A weak tag matches nothing. Throws
 * precondition_required where no state is named, and precondition_failed where it is another.
 */
export function assertIfMatch(ifMatch: IfMatch | undefined, version: number): void {
  if (ifMatch === undefined) throw new AppError('precondition_required');
  if (ifMatch !== '*' && !ifMatch.includes(etagOf(version))) {
    throw new AppError('precondition_failed');
  }
}
