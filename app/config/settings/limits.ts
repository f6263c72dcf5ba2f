import { limit } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';

const form = '`<count>/<length><unit>` with the units `s`, `m`, `h` and `d`, or `off`';

/** Settings of the rate limits, by their names in the counters. */
export const limitSettings = {
  title: 'Rate limits',
  introduction:
    '`5/1h` allows five uses in an hour; a window lasts at most 24 days. `off` lifts a limit, ' +
    'which weakens security: passwords, codes or e-mail addresses can then be guessed, or ' +
    'e-mails be sent, without a limit. Limits hold across all processes of the app. The ' +
    'addresses of one IPv6 /64 network count as one client address.',
  settings: {
    'register-address': setting('LIMITS_REGISTER_ADDRESS', limit('5/1h'), {
      form,
      description: 'Registrations from one client address.',
    }),
    'register-email': setting('LIMITS_REGISTER_EMAIL', limit('3/1h'), {
      form,
      description:
        'E-mails to one e-mail address about its registrations. Further registrations get the ' +
        'same response, and their e-mail is left out.',
    }),
    'register-email-client': setting('LIMITS_REGISTER_EMAIL_CLIENT', limit('2/1h'), {
      form,
      description:
        'How many of these e-mails one client address may cause. Keep it below ' +
        '`LIMITS_REGISTER_EMAIL`, so that a stranger who registers an e-mail address again and ' +
        'again leaves an e-mail to its owner.',
    }),
    'validate-address': setting('LIMITS_VALIDATE_ADDRESS', limit('60/1m'), {
      form,
      description: 'Validation tokens tried from one client address.',
    }),
    'challenge-address': setting('LIMITS_CHALLENGE_ADDRESS', limit('30/1m'), {
      form,
      description:
        'Logins begun from one client address. Each account that logged in from it within 30 ' +
        'days may begin as many again.',
    }),
    'proof-address': setting('LIMITS_PROOF_ADDRESS', limit('10/15m'), {
      form,
      description:
        'Failed login and reauthentication proofs from one client address. They do not lock out ' +
        'an account that logged in from it within 30 days.',
    }),
    'proof-account': setting('LIMITS_PROOF_ACCOUNT', limit('10/15m'), {
      form,
      description:
        'Failed login and reauthentication proofs for one account. A client address from which ' +
        'the account logged in within 30 days, and a login session that reauthenticates, has a ' +
        'count of its own, so that strangers cannot lock the owner out.',
    }),
    'login-account': setting('LIMITS_LOGIN_ACCOUNT', limit('120/1h'), {
      form,
      description: 'Successful logins of one account, each of which is recorded.',
    }),
    'refresh-account': setting('LIMITS_REFRESH_ACCOUNT', limit('600/1h'), {
      form,
      description: 'Refreshes of the tokens of one account, each of which is recorded.',
    }),
    'totp-account': setting('LIMITS_TOTP_ACCOUNT', limit('5/10m'), {
      form,
      description: 'Wrong one-time codes of one account while it sets MFA up.',
    }),
    'share-key-user': setting('LIMITS_SHARE_KEY_USER', limit('60/1h'), {
      form,
      description: 'E-mail addresses that one user looks up to share a document with.',
    }),
    'job-user': setting('LIMITS_JOB_USER', limit('600/1h'), {
      form,
      description: 'Jobs that one user submits or retries.',
    }),
    'write-user': setting('LIMITS_WRITE_USER', limit('3000/1m'), {
      form,
      description: 'Requests of one user that may change something: all but GET.',
    }),
  },
};
