import type { z } from 'zod';
import { UsageError } from '../command.ts';
import { NoAnswer, UnexpectedStatus, type InternalApi } from '../internal-api.ts';
import {
  AlertsAnswer,
  ErrorAnswer,
  HealthAnswer,
  KeysAnswer,
  LettersAnswer,
  MaintenanceAnswer,
  MarksAnswer,
  SignerAnswer,
} from './answers.ts';
import type { Outcome } from './finding.ts';

/** Milliseconds for which an answer is waited for. Those of a healthy vault take far less. */
const patienceMs = 10_000;

const maintenancePath = 'v1/internal/maintenance';

export type VaultAnswers = Exclude<Awaited<ReturnType<typeof askVault>>, string>;

/**
 * Asks a running app for everything that the page shows. Resolves with the outcomes, or with the
 * reason in one line if the app answers nothing. Throws UsageError if the vault refuses the
 * internal API key, or if the URL is not that of an app's internal routes.
 */
export async function askVault(api: InternalApi, stop: AbortSignal) {
  const deadline = AbortSignal.timeout(patienceMs);
  const signal = AbortSignal.any([stop, deadline]);
  let isAnswered = false;
  let silence = '';
  /** The paths whose responses say that the internal routes are elsewhere. */
  const foreign = new Set<string>();

  async function read<S extends z.ZodType>(
    path: string,
    schema: S,
    accepted: readonly number[] = [],
  ): Promise<Outcome<z.output<S>>> {
    try {
      const parsed = schema.safeParse(
        parse(await api.ask({ method: 'GET', path, accepted, signal })),
      );
      isAnswered = true;
      if (parsed.success) return { answer: parsed.data };
      foreign.add(path);
      return { failure: 'the response is not from a vault' };
    } catch (error) {
      if (error instanceof NoAnswer) {
        const late = `${api.origin} gave no answer within ${patienceMs / 1_000} s`;
        silence = deadline.aborted ? late : error.message;
        return { failure: silence };
      }
      if (!(error instanceof UnexpectedStatus)) throw error;
      isAnswered = true;
      assertAdmitted(error);
      if (error.status === 404) foreign.add(path);
      return { failure: describeStatus(error) };
    }
  }

  const [health, alerts, letters, keys, signer, marks, maintenance] = await Promise.all([
    read('health', HealthAnswer, [503]),
    read('v1/audit/proof/dlq/alerts', AlertsAnswer),
    read('v1/audit/proof/dlq/stats', LettersAnswer),
    read('v1/internal/keys', KeysAnswer),
    read('v1/internal/signer', SignerAnswer),
    read('v1/internal/marks', MarksAnswer),
    read(maintenancePath, MaintenanceAnswer),
  ]);
  if (!isAnswered) return silence;
  if (foreign.has(maintenancePath)) {
    throw new UsageError(
      `${api.origin} serves no internal routes: --url must name the internal listener of an app`,
    );
  }
  return { health, alerts, letters, keys, signer, marks, maintenance };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Throws UsageError if the vault refuses the key. */
function assertAdmitted(error: UnexpectedStatus): void {
  const { status } = error;
  if (status !== 401 && status !== 403) return;
  const reason = status === 401 ? 'it does not know it' : 'it lacks the admin right';
  throw new UsageError(`the vault refuses the internal API key: ${reason}`);
}

/** Describes a status with the code of its body, which may come from anywhere else. */
function describeStatus({ status, body }: UnexpectedStatus): string {
  const code = ErrorAnswer.safeParse(parse(body)).data?.code;
  return `answered ${status}${code === undefined ? '' : ` ${code}`}`;
}
