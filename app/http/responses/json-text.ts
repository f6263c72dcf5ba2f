import type { Context } from 'koa';

/** A response that is JSON text already, as bytes of UTF-8. */
export class JsonText {
  readonly bytes: Buffer;

  /** Takes the text in parts, since to join large strings would take long. */
  constructor(...parts: readonly string[]) {
    this.bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  }
}

/** Returns the JSON text of an object in which the member `name` has the given JSON text. */
export function withMember(value: object, name: string, text: string): JsonText {
  const parts: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    parts.push(`${parts.length === 0 ? '{' : ','}${JSON.stringify(key)}:`);
    parts.push(key === name ? text : JSON.stringify(member));
  }
  return new JsonText(...parts, '}');
}

/** Sends JSON text. */
export function sendText(ctx: Context, { bytes }: JsonText): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = bytes;
}
