import { scan } from '../source/scan.ts';
import { isWithin, lineAt, type SourceFile } from '../source/sources.ts';

/** A file that may use the state of a database session, and the reason. */
export interface SessionException {
  readonly file: string;
  readonly reason: string;
}

const begins = String.raw`(?:^|;)\s*`;

/** SQL whose effect outlives the transaction, on a connection that a pooler gives to others. */
const lasting: Readonly<Record<string, RegExp>> = {
  'a lock of the session': /\bpg_(?:try_)?advisory_(?:lock|unlock)\w*/i,
  'a setting of the session': new RegExp(
    String.raw`\bset_config\s*\([^)]*,\s*false\s*\)|` +
      String.raw`${begins}set\s+(?!local\b|it to\b)(?:session\s+)?[\w.]+\s*(?:=|\bto\b)`,
    'i',
  ),
  'the role of the session': new RegExp(
    String.raw`${begins}(?:set\s+(?:session\s+)?(?:role|authorization)\b|(?:reset|discard)\s+\w+)`,
    'i',
  ),
  notifications: new RegExp(String.raw`${begins}(?:un)?listen\s+["\w?]`, 'i'),
  'a temporary table': /\b(?:create|into)\s+(?:local\s+|global\s+)?temp(?:orary)?\s/i,
  'a cursor that is held': /\bcursor\s+with\s+hold\b/i,
  'a statement that SQL prepares': new RegExp(
    String.raw`${begins}(?:prepare\s+\w+\s+as|deallocate\s+\w+)`,
    'i',
  ),
  'a parameter of the login': /^-c \w+=/,
};

/** Options of the driver that it sends as parameters of the login. */
const loginParameter =
  /\b(?:statement_timeout|lock_timeout|idle_in_transaction_session_timeout|application_name)\s*:/g;

/**
 * Finds where the app uses the state of a database session, which PgBouncer in transaction mode
 * does not keep, and exceptions that no longer apply. The development stack is left out.
 */
export function sessionStateProblems(
  files: readonly SourceFile[],
  exceptions: readonly SessionException[],
): readonly string[] {
  const uses = files
    .filter(({ path }) => isWithin(path, 'app') && !isWithin(path, 'app/dev'))
    .flatMap((file) => usesOf(file).map((problem) => ({ file: file.path, problem })));
  return [
    ...uses
      .filter(({ file }) => exceptions.every((each) => each.file !== file))
      .map(({ problem }) => problem),
    ...exceptions
      .filter((each) => uses.every(({ file }) => file !== each.file))
      .map(({ file }) => `${file} has an exception that it does not need: remove the exception.`),
  ];
}

function usesOf({ path, text }: SourceFile): readonly string[] {
  const { code, strings, templates } = scan(text);
  const texts = new Map(strings);
  for (const { start, text: template } of templates) texts.set(start, template);
  const inTexts = [...texts].flatMap(([start, literal]) =>
    Object.entries(lasting)
      .filter(([, pattern]) => pattern.test(literal))
      .map(([name]) => ({ start, name })),
  );
  const inCode = [...code.matchAll(loginParameter)].map(({ index }) => ({
    start: index,
    name: 'a parameter of the login',
  }));
  return [...inTexts, ...inCode].map(
    ({ start, name }) =>
      `${path}:${lineAt(text, start)} uses ${name}: use the state of a transaction, or a row.`,
  );
}
