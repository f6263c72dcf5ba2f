import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from './tracing-settings.ts';

const samplers: Readonly<Record<SamplerName, (share: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (share) => new TraceIdRatioBasedSampler(share),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (share) =>
    new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
};

/** Creates the sampler of a name that OpenTelemetry defines, for a share of traces from 0 to 1. */
export function createSampler(name: SamplerName, share: number): Sampler {
  return samplers[name](share);
}
