import { Client } from 'pg';

export type Texts = ReadonlyMap<string, ReadonlySet<string>>;

interface Stated {
  readonly text: string;
}

/** Statements that Postgres does not plan. */
const unplanned = /^(?:begin|rollback|select; commit|set|lock|listen|notify|deallocate)\b/i;

/**
 * Starts to record the texts of all statements that this thread sends, by the name of the login.
 */
export function recordStatements(): Texts {
  const texts = new Map<string, Set<string>>();
  const send = Reflect.get(Client.prototype, 'query');
  Reflect.set(
    Client.prototype,
    'query',
    function query(this: Client, statement: string | Stated, ...rest: unknown[]): unknown {
      const text = typeof statement === 'string' ? statement : statement.text;
      const ofLogin = texts.get(this.user ?? '') ?? new Set();
      if (!unplanned.test(text.trim())) ofLogin.add(text);
      texts.set(this.user ?? '', ofLogin);
      return Reflect.apply(send, this, [statement, ...rest]);
    },
  );
  return texts;
}
