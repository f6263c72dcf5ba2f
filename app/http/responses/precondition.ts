import { AppError } from '../../errors/app-error.ts';
import type { Reply } from '../requests/request.ts';

/** A parsed If-Match header (RFC 9110 §13.1.1): any state, or the states with these entity tags. */
export type IfMatch = '*' | readonly string[];

const entityTag = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const entityTags = new RegExp(
  `^[ \\t,]*(?:${entityTag}(?:[ \\t]*,[ \\t,]*${entityTag})*[ \\t,]*)?$`,
);

/** Returns the entity tag of a resource that counts its changes. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** Resolves with the result, and sets its version as the ETag of the response. */
export async function withETag<Answer extends { readonly version: number }>(
  reply: Reply,
  answer: Promise<Answer>,
): Promise<Answer> {
  const { version } = await answer;
  reply.set('ETag', etagOf(version));
  return answer;
}

/**
 * Parses an If-Match header, if there is one. Throws invalid_request unless it lists entity tags.
 */
export function parseIfMatch(header: string | undefined): IfMatch | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  if (!entityTags.test(header)) throw new AppError('invalid_request');
  return header.match(new RegExp(entityTag, 'g')) ?? [];
}

/**
 * Checks If-Match against the version of a locked row, right before its change. A weak tag matches
 * nothing. Throws precondition_required without If-Match, and precondition_failed if the version
 * differs.
 */
export function assertIfMatch(ifMatch: IfMatch | undefined, version: number): void {
  if (ifMatch === undefined) throw new AppError('precondition_required');
  if (ifMatch !== '*' && !ifMatch.includes(etagOf(version))) {
    throw new AppError('precondition_failed');
  }
}
