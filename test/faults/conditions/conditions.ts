import { execFile } from 'node:child_process';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { asAdmin } from '../../../app/dev/postgres/database.ts';
import type { Clock, Stage } from './stage.ts';

const run = promisify(execFile);

/** Something that goes wrong around a vault for a while. */
export interface Condition {
  readonly name: string;
  begin(stage: Stage): Promise<unknown>;
  end(stage: Stage): Promise<unknown>;
  /** Errors that `/health` reports meanwhile, as `check code`; empty if it reports none. */
  readonly health: readonly string[];
  /** Codes of the alerts that are raised meanwhile. */
  readonly alerts: readonly string[];
  /** Refusals that users may meet meanwhile, as `status code`. */
  readonly refusals: readonly string[];
}

const expired = ['401 token_expired', '401 invalid_token'];

function clock(whose: Clock, seconds: number, health: readonly string[]): Condition {
  return {
    name: `the clock of the ${whose} is ${seconds} s off`,
    begin: ({ setClock }) => setClock(whose, seconds),
    end: ({ setClock }) => setClock(whose, 0),
    health,
    alerts: ['clock_skew'],
    refusals: ['503 clock_skew', ...(whose === 'app' ? expired : [])],
  };
}

const both = ['database clock_skew', 'signer clock_skew'];
const clocks: readonly Condition[] = [600, -3_600, 90_000].flatMap((seconds) => [
  clock('app', seconds, both),
  clock('signer', seconds, ['signer clock_skew']),
  clock('database', seconds, ['database clock_skew']),
]);

/** Sets the clock of the app back and forth by an hour, ten times a second. */
function unsteadyClock(): Condition {
  let steps: NodeJS.Timeout | undefined;
  let isAhead = false;
  return {
    ...clock('app', 3_600, []),
    name: 'the clock of the app steps back and forth',
    async begin({ setClock }) {
      steps = setInterval(() => {
        isAhead = !isAhead;
        void setClock('app', isAhead ? 3_600 : 0);
      }, 100);
    },
    async end({ setClock }) {
      clearInterval(steps);
      await delay(200);
      await setClock('app', 0);
    },
    alerts: [],
  };
}

const filler = ({ storeMount }: Stage) => join(storeMount, 'filler');
const clear = (stage: Stage) => rm(filler(stage), { recursive: true });

/** Fills the file system of the object store with one file. */
async function fillBytes(stage: Stage): Promise<void> {
  await mkdir(filler(stage));
  const file = await open(join(filler(stage), 'bytes'), 'w');
  try {
    for (const size of [2 ** 20, 4_096]) await untilFull(() => file.write(Buffer.alloc(size)));
  } finally {
    await file.close();
  }
}

/** Fills the file system of the object store with empty files. */
async function fillInodes(stage: Stage): Promise<void> {
  await mkdir(filler(stage));
  let count = 0;
  await untilFull(() => writeFile(join(filler(stage), String(count++)), ''));
}

async function untilFull(add: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await add();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

const remount = ({ storeMount }: Stage, options: string) =>
  run('mount', ['-o', `remount,${options}`, storeMount]);

/** Changes a setting of both logins of the vault, and ends their connections. */
async function limitConnections({ postgres }: Stage, limit: number): Promise<void> {
  await asAdmin(postgres.access, async (client) => {
    for (const login of ['probatio_app', 'probatio_service']) {
      await client.query(`alter role ${login} connection limit ${limit}`);
    }
    if (limit === -1) return;
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where usename in ('probatio_app', 'probatio_service')`);
  });
}

const away = ['503 database_unavailable', '503 busy'];
const storage = ['503 storage_full', '503 storage_unavailable'];
const signer = ['503 signer_unavailable', '503 proof_not_ready'];

export const conditions: readonly Condition[] = [
  ...clocks,
  unsteadyClock(),
  {
    name: 'Postgres is frozen',
    begin: ({ postgres }) => postgres.freeze(),
    end: ({ postgres }) => postgres.thaw(),
    health: ['database timeout'],
    alerts: [],
    refusals: away,
  },
  {
    name: 'Postgres is killed and started again',
    begin: ({ postgres }) => postgres.kill(),
    end: ({ postgres }) => postgres.start(),
    health: ['database refused'],
    alerts: [],
    refusals: away,
  },
  {
    name: 'Postgres accepts no connection',
    begin: (stage) => limitConnections(stage, 0),
    end: (stage) => limitConnections(stage, -1),
    health: ['database full'],
    alerts: [],
    refusals: away,
  },
  {
    name: 'the object store is full',
    begin: fillBytes,
    end: clear,
    health: ['storage full'],
    alerts: ['storage_full'],
    refusals: storage,
  },
  {
    name: 'the object store has no inodes',
    begin: fillInodes,
    end: clear,
    health: ['storage full'],
    alerts: ['storage_full'],
    refusals: storage,
  },
  {
    name: 'the object store is read only',
    begin: (stage) => remount(stage, 'ro'),
    end: (stage) => remount(stage, 'rw'),
    health: ['storage full'],
    alerts: [],
    refusals: storage,
  },
  {
    name: 'the token is away',
    begin: ({ token }) => token.kill(),
    end: ({ token }) => token.start(),
    health: ['signer hsm_unavailable'],
    alerts: ['sealing_paused'],
    refusals: signer,
  },
];
