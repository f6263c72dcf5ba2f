import type { Answer, Message } from '../harness/sender.ts';
import type { Sends, SentStatement, SignerRequest } from './recorder.ts';

/** The header with the number of a recorded message, for the bare server. */
export const replayHeader = 'x-replay';

/** The statements of one transaction, which a bare client sends without waiting in between. */
export interface Transaction {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly login: string;
  readonly statements: readonly Pick<SentStatement, 'text' | 'values'>[];
}

/** A message, its answer and when it was sent. */
export interface Exchange {
  readonly at: number;
  readonly message: Message;
  readonly answer: Answer;
  /** Number of modular exponentiations that the app does for it. */
  readonly powers: number;
}

/** All that the app did for one message, and what it answered. */
export interface Replay extends Exchange {
  readonly transactions: readonly Transaction[];
  readonly signer: readonly SignerRequest[];
}

/**
 * Returns the replays of messages that were sent one after the other. What the app did in the
 * background, such as sealing, counts to the message before it.
 * @param isIdle Tells the statements that the app sends though nobody asks it anything.
 */
export function createReplays(
  exchanges: readonly Exchange[],
  sends: Sends,
  isIdle: (text: string) => boolean,
): Replay[] {
  const transactions = groupTransactions(byIds(sends.statements)).filter(
    ({ statements }) => !statements.every(({ text }) => isIdle(text)),
  );
  return exchanges.map((exchange, index) => {
    const next = exchanges[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const belongs = ({ at }: { readonly at: number }) => at >= exchange.at && at < next;
    return {
      ...exchange,
      transactions: transactions.filter(belongs),
      signer: sends.signer.filter(belongs),
    };
  });
}

/** The condition by which a statement finds rows of the queue by their places. */
const byPlaces = /(?:audit_queue\.)?ctid = any\(\$(?<places>\d+)::tid\[\]\)/u;
const ofClaim = /\bclaim_id"? = \$(?<claim>\d+)/u;
const ofEntries = /\bentry_id = any\(\$(?<ids>\d+)::uuid\[\]\)/u;

/**
 * Returns the statements with the ids of queued entries instead of the places of their rows, which
 * differ in the copy of the database. The ids of a claim are those that it sealed.
 */
function byIds(statements: readonly SentStatement[]): SentStatement[] {
  const valueOf = ({ text, values }: SentStatement, pattern: RegExp) =>
    values[Number(Object.values(pattern.exec(text)?.groups ?? {})[0]) - 1];
  const ofQueue = statements.filter(({ text }) => byPlaces.test(text));
  const idsOf = new Map(
    ofQueue
      .filter(({ text }) => ofEntries.test(text))
      .map((sealing) => [valueOf(sealing, ofClaim), valueOf(sealing, ofEntries)]),
  );
  return statements.map((statement) => {
    const places = Number(byPlaces.exec(statement.text)?.groups?.['places']);
    if (Number.isNaN(places)) return statement;
    const text = statement.text.replace(
      byPlaces,
      'audit_queue.entry_id = any($$$<places>::uuid[])',
    );
    const ids = idsOf.get(valueOf(statement, ofClaim));
    return { ...statement, text, values: statement.values.with(places - 1, ids) };
  });
}

/** Returns the transactions in the order in which they began. */
function groupTransactions(statements: readonly SentStatement[]): Transaction[] {
  const found: (Transaction & { readonly statements: Transaction['statements'][number][] })[] = [];
  const open = new Map<number, (typeof found)[number]>();
  for (const { at, connection, login, text, values } of statements) {
    let transaction = open.get(connection);
    if (transaction === undefined) {
      transaction = { at, login, statements: [] };
      found.push(transaction);
      open.set(connection, transaction);
    }
    transaction.statements.push({ text, values });
    if (/\b(?:commit|rollback)\s*$/i.test(text)) open.delete(connection);
  }
  return found;
}
