import type { Credentials } from '../accounts/accounts.ts';
import { normalizeEmail } from '../login/email.ts';
import { element, field, onPress, onSubmit, say } from './elements.ts';
import { awaitMail } from './validation-mail.ts';
import type { KnownVisitor, Visitor, Visitors } from './visitor.ts';

interface PanelOptions {
  readonly visitors: Visitors;
  readonly recall: () => KnownVisitor | undefined;
  readonly onLoggedIn: (visitor: Visitor) => Promise<void>;
  readonly onStored: () => Promise<void>;
  readonly onProven: (token: string) => void;
  readonly onLogOut: () => Promise<void>;
  readonly openOperation: (name: string) => void;
}

/** The states of the panel, each with the part of the page that it shows. */
type State = 'enter' | 'validate' | 'inside';

/** Connects the forms of the page with the logins of a visitor. */
export function connectPanel(options: PanelOptions) {
  let visitor: Visitor | undefined;
  let registering: Credentials | undefined;

  function show(state: State): void {
    for (const id of ['enter', 'validate', 'inside']) {
      element(id, HTMLElement).hidden = id !== state;
    }
    element('log-out', HTMLButtonElement).hidden = state !== 'inside';
  }

  async function logIn(credentials: Credentials): Promise<void> {
    say('Deriving the key of the password, and logging in …');
    visitor = await options.visitors.logIn(credentials, options.recall());
    element('enter', HTMLFormElement).reset();
    element('inside-text', HTMLElement).textContent = `As ${visitor.email}.`;
    show('inside');
    await options.onLoggedIn(visitor);
    say('Examples below name your own documents, entries and device.');
  }

  async function register(credentials: Credentials): Promise<void> {
    say('Deriving the key of the password, and registering …');
    const { fingerprint } = await options.visitors.register(credentials);
    registering = credentials;
    element('own-fingerprint', HTMLElement).textContent = fingerprint;
    say('Waiting for the e-mail …');
    const mail = await awaitMail(normalizeEmail(credentials.email), fingerprint);
    element('mail-fingerprint', HTMLElement).textContent = mail?.fingerprint ?? 'see the e-mail';
    element('mail-text', HTMLElement).textContent =
      mail === undefined
        ? 'No e-mail with this fingerprint can be read here. If the address has an account, log ' +
          'in. Otherwise enter the token of the e-mail, if it shows this fingerprint.'
        : 'In development, e-mails are files, and the page has read yours: the fingerprints are ' +
          'equal.';
    const token = element('validate', HTMLFormElement).elements.namedItem('token');
    if (token instanceof HTMLInputElement) token.value = mail?.token ?? '';
    show('validate');
    say('');
  }

  onSubmit('enter', async (action, form) => {
    const credentials = { email: field(form, 'email'), password: field(form, 'password') };
    await (action === 'register' ? register(credentials) : logIn(credentials));
  });

  onSubmit('validate', async (action, form) => {
    const credentials = registering;
    registering = undefined;
    if (action === 'cancel' || credentials === undefined) {
      say('');
      show('enter');
      return;
    }
    await options.visitors.validate(field(form, 'token'));
    form.reset();
    show('enter');
    await logIn(credentials);
  });

  onSubmit('upload', async (_action, form) => {
    const file = new FormData(form).get('file');
    if (visitor === undefined || !(file instanceof File)) return;
    say(`Encrypting and uploading ${file.name} …`);
    const id = await visitor.store(file);
    form.reset();
    await options.onStored();
    element('next', HTMLElement).hidden = false;
    say(`Stored as document ${id}. Certify it next.`);
  });

  onSubmit('prove', async (_action, form) => {
    if (visitor === undefined) return;
    options.onProven(await visitor.reauthenticate(field(form, 'password')));
    form.reset();
    say('X-Reauth-Token is set for five minutes.');
  });

  onPress('log-out', async () => {
    await options.onLogOut();
    visitor = undefined;
    element('next', HTMLElement).hidden = true;
    show('enter');
    say('Logged out.');
  });

  element('next', HTMLElement).addEventListener('click', ({ target }) => {
    const operation = target instanceof HTMLElement ? target.dataset['operation'] : undefined;
    if (operation !== undefined) options.openOperation(operation);
  });

  return {
    /** Tells a visitor after a reload that operations still get the access token. */
    showKept(email: string, until: Date): void {
      element('log-out', HTMLButtonElement).hidden = false;
      say(
        `The access token of ${email} is kept until ${until.toLocaleTimeString()}. ` +
          'Log in again to upload.',
      );
    },
  };
}
