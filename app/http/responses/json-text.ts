import type { Context } from 'koa';

/** A response that is JSON text already, as bytes of UTF-8. */
export class JsonText {
  readonly bytes: Buffer;

  /** Takes the text in parts, since to join large strings would take long. */
  constructor(...parts: readonly string[]) {
    this.bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  }
}

/** Returns the JSON text of an object with these members, whose values are JSON texts already. */
export function withTexts(value: object, texts: Readonly<Record<string, string>>): JsonText {
  const parts: string[] = [];
  for (const [name, member] of Object.entries({ ...value, ...texts })) {
    if (member === undefined) continue;
    parts.push(`${parts.length === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    parts.push(texts[name] ?? JSON.stringify(member));
  }
  return new JsonText(...(parts.length === 0 ? ['{'] : parts), '}');
}

/** Sends JSON text. */
export function sendText(ctx: Context, { bytes }: JsonText): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = bytes;
}
