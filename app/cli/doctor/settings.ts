import { loadConfig, type Config } from '../../config/config.ts';
import { ConfigError } from '../../config/environment.ts';
import type { Finding } from './steps/steps.ts';

interface ReadSettings {
  /** Undefined if the settings have problems. */
  readonly config: Config | undefined;
  readonly findings: readonly Finding[];
}

const name = 'settings';

/** Reads the settings as the app does, and reports every problem. */
export function readSettings(env: NodeJS.ProcessEnv): ReadSettings {
  try {
    const text = 'every setting is valid';
    return { config: loadConfig(env), findings: [{ name, grade: 'ok', text }] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, ...problems] = error.message.split('\n');
    const found = [...problems, 'nothing else was examined: correct the settings first'];
    return {
      config: undefined,
      findings: found.map((text) => ({ name, grade: 'fail', text: text.trim() })),
    };
  }
}
