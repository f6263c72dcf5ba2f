/** What to run and how to end it. Travels from the supervisor to the watchdog as JSON. */
export interface ProcessSpec {
  /** Names the process in messages and log lines. */
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Record<string, string>;
  /** Asks for an orderly end. */
  readonly stopSignal: 'SIGTERM' | 'SIGINT';
  /** Written to standard input, which is then closed: what must not show in `ps`. */
  readonly input?: string;
  /** Runs under another user; only root can. */
  readonly user?: { uid: number; gid: number };
  /** Opened by root and inherited as descriptors 3, 4, …, before `user` takes effect. */
  readonly directories?: string[];
  /**
   * A lock file that the watchdog holds while the process lives, so that two of them never share
   * data: a new one waits until its predecessor, perhaps of a killed supervisor, is gone.
   */
  readonly lockFile?: string;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** From the watchdog. */
export type WatchdogReport =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly reason: string }
  | ({ type: 'exited' } & ProcessExit);

/** To the watchdog. */
export type WatchdogCommand =
  | { readonly type: 'start'; readonly spec: ProcessSpec; readonly relayOutput: boolean }
  | { readonly type: 'signal'; readonly signal: NodeJS.Signals };
