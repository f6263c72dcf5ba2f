import { Registry } from 'prom-client';
import { z } from 'zod';
import { MetricDescription } from '../../../../signer/protocol/metrics/description.ts';
import { describeMetrics } from '../../../telemetry/metrics-page.ts';
import { createMetrics } from '../../../telemetry/metrics/metrics.ts';
import { listTemplates } from '../../../wiring/routes.ts';
import { parseOptions, type Command } from '../../command.ts';
import { readJsonOption } from './json-option.ts';

export const metrics: Command = {
  usage: `usage: probatio metrics [--signer FILE]

Prints every metric of the app as Markdown.

  --signer FILE   adds the metrics of the signer, which \`node signer/cli.ts metrics\` prints
`,
  async run(args) {
    const { signer: file } = parseOptions(args, { signer: { type: 'string' } });
    const signer = file === undefined ? [] : readJsonOption('--signer', file);
    return describeAllMetrics(signer);
  },
};

/** Returns docs/metrics.md, with the metrics that the signer prints. Throws ZodError for others. */
export function describeAllMetrics(ofSigner: unknown): string {
  const options = { registry: new Registry(), routes: listTemplates() };
  const { descriptions } = createMetrics(options);
  const signer = z.array(MetricDescription).parse(ofSigner);
  return describeMetrics([
    { title: 'App', ...descriptions },
    ...(signer.length === 0 ? [] : [{ title: 'Signer', own: signer, read: [] }]),
  ]);
}
