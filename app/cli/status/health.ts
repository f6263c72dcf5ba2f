import type { HealthAnswer } from './answers.ts';
import { look, runbook, well, type Finding } from './finding.ts';

const doctor = 'run probatio doctor, see docs/health.md';

/** The advice for a failed check, by its name and code, or by its name alone. */
const advice: Readonly<Record<string, string>> = {
  'database schema_behind': 'run probatio migrate',
  'storage full': 'see docs/health.md#a-full-object-store',
  signer: `${runbook('SignerDown')}, run probatio doctor`,
};

/** Returns a finding for each check of `/health`. */
export function findHealth({ checks }: HealthAnswer): readonly Finding[] {
  return Object.entries(checks).map(([name, { status, latencyMs, error = 'unavailable' }]) =>
    status === 'ok'
      ? well(`health.${name}`, `answered within ${latencyMs} ms`)
      : look(
          `health.${name}`,
          `the check fails with ${error}`,
          advice[`${name} ${error}`] ?? advice[name] ?? doctor,
        ),
  );
}
