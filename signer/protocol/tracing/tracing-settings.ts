import { z } from 'zod';

/** The samplers of OpenTelemetry by the names that OTEL_TRACES_SAMPLER takes. */
const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplerNames)[number];

/** The settings of traces, which app and signer share. */
export interface TracingSettings {
  /** The URL of the receiver; undefined if nothing is traced. */
  readonly endpoint: string | undefined;
  readonly sampler: SamplerName;
  /** The share of traces that the samplers `…traceidratio` take, from 0 to 1. */
  readonly share: number;
}

/** The settings by their variables, with the texts of docs/configuration.md. */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      form: '`http` or `https` URL',
      whenUnset: 'nothing is traced',
      description:
        'The receiver of traces ([traces.md](traces.md)), such as `http://collector:4318`. They ' +
        'tell who does what and when: send them to nobody but your monitoring.',
    }),
  OTEL_TRACES_SAMPLER: z
    .enum(samplerNames)
    .default('parentbased_always_on')
    .meta({
      description:
        'Which traces are recorded. `parentbased_…` obeys the flag of a trusted proxy, and in ' +
        'the signer that of the app, and decides about all other traces by its second part.',
    }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).meta({
    form: 'number from 0 to 1',
    description: 'The share of traces that the samplers `…traceidratio` record.',
  }),
};
