/**
 * A program to run and the way to stop it. The supervisor sends this specification to the watchdog
 * as JSON.
 */
export interface ProcessSpec {
  /** Name of the process in messages and log lines. */
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  /** The complete environment of the process, which inherits no other variable. */
  readonly env: Record<string, string>;
  /** The signal that asks the process to shut down in an orderly way. */
  readonly stopSignal: 'SIGTERM' | 'SIGINT';
  /**
   * Text to write to standard input, which is then closed. Unlike `args`, the text is not visible
   * in `ps`.
   */
  readonly input?: string;
  /** The user to run the process as. The default is the current user; any other user needs root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /**
   * Directories that the watchdog opens with its own permissions. The process inherits them as file
   * descriptors 3, 4, …
   */
  readonly directories?: string[];
  /**
   * A file that the watchdog locks while the process runs, so that two processes never use the same
   * data. The start waits up to 15 s for an earlier process that holds the lock, for example one
   * whose supervisor was killed.
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
