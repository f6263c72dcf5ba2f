import type { WrongSettings } from './wrong-settings.ts';
import { secret, type Files } from './files.ts';

/** Returns the settings of a signer that starts. */
export function rightSigner(files: Files) {
  return {
    SIGNER_LIBRARY: 'libsofthsm2.so',
    SIGNER_TOKEN_LABEL: 'probatio',
    SIGNER_ISSUERS: 'https://vault.example',
    SIGNER_PIN_FILE: files.pin,
    SIGNER_SOCKET_PATH: `${files.directory}/signer.sock`,
  };
}

/** Returns wrong settings of the signer, and what a stranger is told about each. */
export function signerCases(files: Files): readonly WrongSettings[] {
  const missing = 'names a file that does not exist; create it or correct the path';
  return [
    {
      what: 'the PIN is missing',
      env: { SIGNER_PIN_FILE: '' },
      problems: [
        'SIGNER_PIN: is not set; set it to: 4 to 255 characters; or name a file of it in ' +
          'SIGNER_PIN_FILE',
      ],
    },
    {
      what: 'the PIN is given twice',
      env: { SIGNER_PIN: `${secret}-1234` },
      problems: ['SIGNER_PIN: is set beside SIGNER_PIN_FILE; set only one of them'],
    },
    {
      what: 'the PIN is too short',
      env: { SIGNER_PIN_FILE: '', SIGNER_PIN: secret },
      problems: ['SIGNER_PIN: has under 4 characters; set it to the PIN of the token'],
    },
    {
      what: 'the PIN ends with a space',
      env: { SIGNER_PIN_FILE: '', SIGNER_PIN: `${secret}-1234 ` },
      problems: ['SIGNER_PIN: begins or ends with a space; remove the space'],
    },
    {
      what: 'the file of the PIN is missing',
      env: { SIGNER_PIN_FILE: files.missing },
      problems: [`SIGNER_PIN_FILE: ${missing}`],
    },
    {
      what: 'the file of the PIN is a directory',
      env: { SIGNER_PIN_FILE: files.directory },
      problems: ['SIGNER_PIN_FILE: names a directory; name a file'],
    },
    {
      what: 'the file of the PIN is empty',
      env: { SIGNER_PIN_FILE: files.empty },
      problems: ['SIGNER_PIN_FILE: names an empty file; write the secret into it'],
    },
    {
      what: 'every user may write the PIN',
      env: { SIGNER_PIN_FILE: files.open },
      problems: [
        'SIGNER_PIN_FILE: names a file that every user may write; take that right away (chmod o-w)',
      ],
    },
    {
      what: 'the library is missing',
      env: { SIGNER_LIBRARY: files.missing },
      problems: [`SIGNER_LIBRARY: ${missing}`],
    },
    {
      what: 'every user may write the library',
      env: { SIGNER_LIBRARY: files.open },
      problems: [
        'SIGNER_LIBRARY: names a file that every user may write; take that right away (chmod o-w)',
      ],
    },
    {
      what: 'the label is too long',
      env: { SIGNER_TOKEN_LABEL: 'p'.repeat(33) },
      problems: [
        'SIGNER_TOKEN_LABEL: is not valid; set it to: 1 to 32 printable ASCII characters, ' +
          'without spaces at either end',
      ],
    },
    {
      what: 'the socket has no directory',
      env: { SIGNER_SOCKET_PATH: files.socketBelow },
      problems: ['SIGNER_SOCKET_PATH: is in a directory that does not exist; create the directory'],
    },
    {
      what: 'the socket is a file',
      env: { SIGNER_SOCKET_PATH: files.plain },
      problems: ['SIGNER_SOCKET_PATH: names something that is no socket; choose another path'],
    },
    {
      what: 'a setting is misspelt',
      env: { SIGNER_SESIONS: '4' },
      problems: ['SIGNER_SESIONS: is no setting; did you mean SIGNER_SESSIONS?'],
    },
    {
      what: 'numbers are out of range',
      env: { SIGNER_SESSIONS: '65', SIGNER_TOKEN_KEY_BITS: '1024', SIGNER_KEEP_ALIVE_MS: 'often' },
      problems: [
        'SIGNER_SESSIONS: is not valid; set it to: 1 to 64 sessions',
        'SIGNER_TOKEN_KEY_BITS: is not valid; set it to: 2048 to 4096 bits',
        'SIGNER_KEEP_ALIVE_MS: is not valid; set it to: 10 to 3600000 milliseconds',
      ],
    },
  ];
}
