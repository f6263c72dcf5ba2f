import type { Finding, Grade } from './steps/steps.ts';

interface Report {
  /** The worst grade of the findings. */
  readonly status: Grade;
  readonly checks: readonly Finding[];
}

/** The exit codes of the command, by the worst grade. */
export const exitCodes: Readonly<Record<Grade, number>> = { ok: 0, warn: 1, fail: 2 };

export function createReport(checks: readonly Finding[]): Report {
  const status = (['fail', 'warn'] as const).find((grade) =>
    checks.some((check) => check.grade === grade),
  );
  return { status: status ?? 'ok', checks };
}

/** Renders one line for each finding: the grade, the name, and what was found. */
export function renderLines({ checks }: Report): string {
  return checks.map(({ grade, name, text }) => `${grade.padEnd(4)}  ${name}: ${text}\n`).join('');
}

export function renderJson({ status, checks }: Report): string {
  const shown = checks.map(({ name, grade, text }) => ({ name, status: grade, text }));
  return `${JSON.stringify({ status, checks: shown }, null, 2)}\n`;
}
