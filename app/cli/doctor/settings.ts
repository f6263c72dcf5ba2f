import { ConfigError } from '../../../signer/protocol/process/config-error.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { listWeaknesses } from '../../config/weaknesses.ts';
import type { Finding, Grade } from './steps/steps.ts';

interface ReadSettings {
  /** Undefined if the settings have problems. */
  readonly config: Config | undefined;
  readonly findings: readonly Finding[];
}

/** Reads the settings as the app does, and reports every problem and weakness. */
export function readSettings(env: NodeJS.ProcessEnv): ReadSettings {
  try {
    const config = loadConfig(env);
    const remarks = [
      ...config.remarks.unknown.map((name) => `${name}: is no setting; correct or remove it`),
      ...listWeaknesses(config, env).map((text) => `${text}; weaker than recommended`),
    ];
    if (remarks.length > 0) return { config, findings: remarks.map((text) => found('warn', text)) };
    return { config, findings: [found('ok', 'every setting is valid, and none is weak')] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, ...problems] = error.message.split('\n');
    const findings = [...problems, 'nothing else was examined: correct the settings first'];
    return { config: undefined, findings: findings.map((text) => found('fail', text.trim())) };
  }
}

function found(grade: Grade, text: string): Finding {
  return { name: 'settings', grade, text };
}
