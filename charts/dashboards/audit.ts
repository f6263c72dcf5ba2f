import { alertThresholds, sharedThresholds } from '../../app/telemetry/thresholds.ts';
import type { Dashboard } from './dashboard.ts';
import { max, quantile, rate, select, sum } from './query.ts';

export const auditDashboard: Dashboard = {
  uid: 'audit',
  title: 'Audit and signer',
  description: 'For those who run the HSM: is everything sealed, and does the signer keep up?',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Entries without a signature',
          description: 'Entries that wait for the signer.',
          kind: 'number',
          unit: 'short',
          queries: [max('probatio_audit_unsealed_entries')],
          redFrom: alertThresholds.backlog,
        },
        {
          title: 'Dead letters',
          description: 'Entries that could not be sealed and wait for an operator.',
          kind: 'number',
          unit: 'short',
          queries: [max('probatio_dead_letters')],
          redFrom: alertThresholds.deadLetters,
        },
        {
          title: 'Damaged or missing entries',
          description: 'What verify-log has found. Anything but 0 is an incident.',
          kind: 'number',
          unit: 'short',
          queries: [max('probatio_log_findings')],
          redFrom: 1,
        },
        {
          title: 'Age of the newest mark',
          description: 'How old the newest high-water mark is. It ages while nothing is sealed.',
          kind: 'number',
          unit: 's',
          queries: [max('probatio_mark_age_seconds')],
          redFrom: sharedThresholds.markAgeSeconds,
        },
      ],
    },
    {
      title: 'Log',
      panels: [
        {
          title: 'Entries appended',
          description: 'Entries a second whose transactions were committed, by action.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('probatio_audit_entries_appended_total', { by: ['action'] })],
        },
        {
          title: 'Entries sealed',
          description: 'All entries that were ever sealed.',
          kind: 'lines',
          unit: 'short',
          queries: [max('probatio_audit_sealed_entries', { legend: 'sealed' })],
        },
        {
          title: 'Waiting for a signature',
          description: 'How long the oldest entry without a signature has waited.',
          kind: 'lines',
          unit: 's',
          queries: [max('probatio_audit_unsealed_oldest_age_seconds', { legend: 'oldest' })],
        },
        {
          title: 'Oldest dead letter',
          description: 'How long an entry has waited in the dead-letter queue.',
          kind: 'lines',
          unit: 's',
          queries: [max('probatio_dead_letter_oldest_age_seconds', { legend: 'oldest' })],
        },
        {
          title: 'Duration of batches',
          description: 'How long the signer took for a batch of entries, by its result.',
          kind: 'lines',
          unit: 's',
          queries: [quantile(0.95, 'probatio_sealing_batch_duration_seconds', { by: ['result'] })],
        },
        {
          title: 'Entries in a batch',
          description: 'The mean size of a batch that was signed. Under load it grows.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: ['sum', 'count']
                .map((part) => rate(`probatio_sealing_batch_entries_${part}`).expr)
                .join(' / '),
              legend: 'entries',
            },
          ],
        },
        {
          title: 'Processes that cannot seal',
          description:
            'Processes of which the sealing is paused, by cause. More than 0 needs a look.',
          kind: 'lines',
          unit: 'short',
          queries: [sum('probatio_sealing_paused', { by: ['cause'] })],
        },
      ],
    },
    {
      title: 'Signer',
      panels: [
        {
          title: 'Duration of calls',
          description: 'The 95th percentile of what the app waits for the signer.',
          kind: 'lines',
          unit: 's',
          queries: [
            quantile(0.95, 'probatio_signer_call_duration_seconds', { by: ['url_template'] }),
          ],
        },
        {
          title: 'Duration in the HSM',
          description: 'The 95th percentile of the operations of PKCS#11.',
          kind: 'lines',
          unit: 's',
          queries: [
            quantile(0.95, 'signer_pkcs11_operation_duration_seconds', { by: ['operation'] }),
          ],
        },
        {
          title: 'Sessions',
          description: 'Sessions of PKCS#11 in use and in all, and operations that wait for one.',
          kind: 'lines',
          unit: 'short',
          queries: [
            sum('signer_sessions_in_use', { legend: 'in use' }),
            sum('signer_sessions_max', { legend: 'at most' }),
            sum('signer_queued_operations', { legend: 'waiting' }),
          ],
        },
        {
          title: 'State of the token',
          description: 'Signers by the state of their token. All but ready need a look.',
          kind: 'lines',
          unit: 'short',
          queries: [sum('signer_token_state', { by: ['state'] })],
        },
        {
          title: 'Errors of the HSM',
          description: 'Operations a second that failed, by what PKCS#11 returned.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('signer_pkcs11_errors_total', { by: ['operation', 'return_value'] })],
        },
        {
          title: 'HSM processes that ended',
          description: 'HSM processes that died or hung within an hour.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum(increase(${select('signer_hsm_process_ends_total')}[1h]))`,
              legend: 'ended',
            },
          ],
        },
        {
          title: 'Signed',
          description: 'Entries and tokens a second that the signer signed.',
          kind: 'lines',
          unit: 'cps',
          queries: [
            rate('signer_entries_sealed_total', { legend: 'entries' }),
            rate('signer_tokens_signed_total', { by: ['typ'] }),
          ],
        },
      ],
    },
    {
      title: 'Keys',
      panels: [
        {
          title: 'Signing keys',
          description: 'Signing keys in the registry, by purpose and state.',
          kind: 'lines',
          unit: 'short',
          queries: [max('probatio_signing_keys', { by: ['purpose', 'state'] })],
        },
        {
          title: 'Age of the keys',
          description: 'How long the keys in use have been in use.',
          kind: 'lines',
          unit: 's',
          queries: [
            max('probatio_signing_key_age_seconds', { by: ['purpose'] }),
            max('probatio_encryption_key_age_seconds', { legend: 'encryption' }),
          ],
        },
      ],
    },
  ],
};
