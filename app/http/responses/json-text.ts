import type { Context } from 'koa';

/** A response that is JSON text already. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns the JSON text of an object in which the member `name` has the given JSON text. */
export function withMember(value: object, name: string, text: string): JsonText {
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(
      ([key, member]) => `${JSON.stringify(key)}:${key === name ? text : JSON.stringify(member)}`,
    );
  return new JsonText(`{${members.join(',')}}`);
}

/** Sends JSON text. */
export function sendText(ctx: Context, { text }: JsonText): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = text;
}
