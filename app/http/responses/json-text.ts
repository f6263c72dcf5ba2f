import type { Context } from 'koa';

/** A response that is JSON text already, as bytes of UTF-8. */
export class JsonText {
  readonly bytes: Buffer;

  /** Takes the text in parts, since to join large strings would take long. */
  constructor(...parts: readonly string[]) {
    this.bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  }
}

/** Returns the JSON text of an object with further members, whose values are JSON texts. */
export function withTexts(value: object, texts: Readonly<Record<string, string>>): JsonText {
  const members = JSON.stringify(value).slice(0, -1);
  const parts = [members];
  for (const [name, text] of Object.entries(texts)) {
    const separator = parts.length === 1 && members === '{' ? '' : ',';
    parts.push(`${separator}${JSON.stringify(name)}:`, text);
  }
  return new JsonText(...parts, '}');
}

/** Sends JSON text. */
export function sendText(ctx: Context, { bytes }: JsonText): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = bytes;
}
