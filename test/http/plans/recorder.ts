import { Client } from 'pg';

interface Recording {
  /** The texts of all statements so far, by the name of the login. */
  readonly texts: ReadonlyMap<string, ReadonlySet<string>>;
  stop(): void;
}

interface Stated {
  readonly text: string;
}

/** Statements that Postgres does not plan. */
const unplanned = /^(?:begin|rollback|select; commit|set|lock|listen|notify|deallocate)\b/i;

/** Starts to record the texts of all statements that this thread sends. */
export function recordStatements(): Recording {
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
  return { texts, stop: () => void Reflect.set(Client.prototype, 'query', send) };
}
