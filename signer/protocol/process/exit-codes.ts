/** The programs whose exit codes are documented, with the names that operators know. */
export const programs = {
  app: 'app/main.ts',
  signer: 'signer/main.ts',
  cli: 'probatio',
  signerCli: 'signer/cli.ts',
} as const;

type Program = keyof typeof programs;

interface ExitCode {
  readonly code: number;
  /** The meaning for each program that ends with this code. */
  readonly meanings: Readonly<Partial<Record<Program, string>>>;
}

const badSettings =
  'variables that it needs are missing or wrong; standard error names every problem';

const table = {
  ok: {
    code: 0,
    meanings: {
      app: 'it ended after SIGTERM or SIGINT',
      signer: 'it ended after SIGTERM or SIGINT',
      cli: 'the command succeeded',
      signerCli: 'the command succeeded',
    },
  },
  failed: {
    code: 1,
    meanings: {
      app: 'an error ended it, which the last line of its log states; another start may succeed',
      signer: 'an error ended it, which the last line of its log states; another start may succeed',
      cli:
        'the command failed, and standard error says why; or `doctor` has warnings only; or ' +
        '`status` found something that needs a look',
      signerCli: 'the command failed, or `self-test` found a fault; the output says why',
    },
  },
  misused: {
    code: 2,
    meanings: {
      cli:
        'it was called with wrong arguments, and standard error says how to call it; or `doctor` ' +
        'found a failure; or a setting of `status` is wrong',
      signerCli: 'it was called with wrong arguments; standard error says how to call it',
    },
  },
  pending: {
    code: 3,
    meanings: {
      cli: '`migrate --check` or `migrate --wait` found that migrations are missing',
    },
  },
  /** EX_CONFIG of sysexits.h. */
  refused: {
    code: 78,
    meanings: {
      app:
        'the start was refused: settings are missing or wrong (standard error names every ' +
        'problem), or the database or the backups are not fit (the last line of the log says ' +
        'what to do); another start is refused too until somebody mends that',
      signer: 'settings are missing or wrong; standard error names every problem',
      cli: badSettings,
      signerCli: badSettings,
    },
  },
} as const satisfies Readonly<Record<string, ExitCode>>;

/** All exit codes by name, in the order of the documentation. */
export const exitTable: Readonly<Record<keyof typeof table, ExitCode>> = table;

/** The exit codes of all programs by name. */
export const exitCodes = {
  ok: table.ok.code,
  failed: table.failed.code,
  misused: table.misused.code,
  pending: table.pending.code,
  refused: table.refused.code,
} as const;
