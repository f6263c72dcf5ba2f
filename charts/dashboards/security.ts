import type { Dashboard } from './dashboard.ts';
import { quantile, rate } from './query.ts';

export const securityDashboard: Dashboard = {
  uid: 'security',
  title: 'Security',
  description: 'For those who watch for attacks: who guesses, who is limited, and what is refused?',
  rows: [
    {
      title: 'Proofs of identity',
      panels: [
        {
          title: 'Attempts that failed',
          description: 'Attempts a second that failed, by step and reason. Guessing shows here.',
          kind: 'lines',
          unit: 'cps',
          queries: [
            rate('probatio_auth_attempts_total', {
              by: ['step', 'result'],
              where: 'result!="success"',
            }),
          ],
        },
        {
          title: 'Attempts that succeeded',
          description: 'Attempts a second that succeeded, by step.',
          kind: 'lines',
          unit: 'cps',
          queries: [
            rate('probatio_auth_attempts_total', { by: ['step'], where: 'result="success"' }),
          ],
        },
        {
          title: 'Limits that were hit',
          description: 'Requests a second that exceeded a limit, by the limit.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('probatio_rate_limit_hits_total', { by: ['limit'] })],
        },
        {
          title: 'Refused requests',
          description:
            'Responses a second without access, or without the thing that was asked for.',
          kind: 'lines',
          unit: 'reqps',
          queries: [
            rate('http_server_request_duration_seconds_count', {
              by: ['http_response_status_code'],
              where: 'http_response_status_code=~"401|403|404|429"',
            }),
          ],
        },
      ],
    },
    {
      title: 'Identity provider',
      panels: [
        {
          title: 'Calls by result',
          description: 'Calls a second of the identity provider.',
          kind: 'lines',
          unit: 'cps',
          queries: [
            rate('probatio_identity_provider_call_duration_seconds_count', {
              by: ['operation', 'result'],
            }),
          ],
        },
        {
          title: 'Duration of calls',
          description: 'The 95th percentile by operation.',
          kind: 'lines',
          unit: 's',
          queries: [
            quantile(0.95, 'probatio_identity_provider_call_duration_seconds', {
              by: ['operation'],
            }),
          ],
        },
      ],
    },
    {
      title: 'What the signer refused',
      panels: [
        {
          title: 'Entries that were refused',
          description: 'Entries a second that the signer would not sign. Expect none, ever.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('signer_entries_refused_total', { by: ['fault'] })],
        },
        {
          title: 'Tokens that were refused',
          description: 'Tokens a second that the signer would not sign, because of a limit.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('signer_tokens_refused_total', { by: ['limit'] })],
        },
        {
          title: 'Signatures that do not verify',
          description: 'Signatures of the HSM that software found wrong. Expect none, ever.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('signer_signatures_unverified_total', { by: ['purpose'] })],
        },
      ],
    },
  ],
};
