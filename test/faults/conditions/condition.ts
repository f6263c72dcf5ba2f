import type { Overrides, Stage } from './stage.ts';

/** Something that goes wrong around a vault for a while. */
export interface Condition {
  readonly name: string;
  /** Settings and outputs with which app and signer run meanwhile, restarted before and after. */
  readonly restarted?: (stage: Stage) => Promise<Overrides> | Overrides;
  begin(stage: Stage): Promise<unknown>;
  /** Puts everything right. Resolves with what the report is to say of it, if anything. */
  end(stage: Stage): Promise<string | void>;
  /** Errors that `/health` reports meanwhile, as `check code`; empty if it reports none. */
  readonly health: readonly string[];
  /** Codes of the alerts that are raised meanwhile. */
  readonly alerts: readonly string[];
  /** Refusals that users may meet meanwhile, as `status code`. */
  readonly refusals: readonly string[];
}
