/** A program to run and the way to stop it. The supervisor sends it to the watchdog as JSON. */
export interface ProcessSpec {
  /** Names the process in messages and log lines. */
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  /** The complete environment; nothing is inherited. */
  readonly env: Record<string, string>;
  /** The signal that asks for an orderly end. */
  readonly stopSignal: 'SIGTERM' | 'SIGINT';
  /** Text for standard input, which is then closed. Unlike `args`, it does not show in `ps`. */
  readonly input?: string;
  /** The user to run as, if not the current one; this needs root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Directories opened before `user` takes effect and inherited as descriptors 3, 4, … */
  readonly directories?: string[];
  /**
   * A lock file that the watchdog holds while the process lives, so that two processes never share
   * data: a new one waits until its predecessor, perhaps that of a killed supervisor, has ended.
   */
  readonly lockFile?: string;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A message from the watchdog to the supervisor. */
export type WatchdogReport =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly reason: string }
  | ({ readonly type: 'exited' } & ProcessExit);

/** A message from the supervisor to the watchdog. */
export type WatchdogCommand =
  | { readonly type: 'start'; readonly spec: ProcessSpec; readonly relayOutput: boolean }
  | { readonly type: 'signal'; readonly signal: NodeJS.Signals };
