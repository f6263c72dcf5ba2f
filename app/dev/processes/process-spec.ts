/** What to run and how to end it. Travels from the supervisor to the watchdog as JSON. */
export interface ProcessSpec {
  /** Names the process in messages and log lines. */
  name: string;
  command: string;
  args: string[];
  cwd: string;
  /** The whole environment: nothing is inherited. */
  env: Record<string, string>;
  /** Asks for an orderly end. */
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** Written to standard input, which is then closed: what must not show in `ps`. */
  input?: string;
  /** Runs under another user; only root can. */
  user?: { uid: number; gid: number };
  /** Opened by root and inherited as descriptors 3, 4, …, before `user` takes effect. */
  directories?: string[];
  /**
   * A lock file that the watchdog holds while the process lives, so that two of them never share
   * data: a new one waits until its predecessor, perhaps of a killed supervisor, is gone.
   */
  lockFile?: string;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** From the watchdog. */
export type WatchdogReport =
  | { type: 'started'; pid: number }
  | { type: 'failed'; reason: string }
  | ({ type: 'exited' } & ProcessExit);

/** To the watchdog. */
export type WatchdogCommand =
  | { type: 'start'; spec: ProcessSpec; relayOutput: boolean }
  | { type: 'signal'; signal: NodeJS.Signals };
