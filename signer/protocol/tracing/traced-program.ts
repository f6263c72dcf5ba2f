import type { Logger } from 'pino';
import type { TracingSettings } from './tracing-settings.ts';

export interface TracedProgram {
  /** The name of the program in traces, unless OTEL_SERVICE_NAME names another. */
  readonly service: string;
  readonly version: string;
  readonly settings: TracingSettings;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

export interface Tracing {
  /** Sends what waits, within two seconds, and stops. Never rejects. */
  stop(): Promise<void>;
}
