/** Returns an element of the page. Throws if the page has no such element. */
export function element<T extends Element>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no element ${id}`);
  return found;
}

/** Returns the text of a field of a form. */
export function field(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value : '';
}

/**
 * Calls `act` with the value of the button by which a form is submitted. The buttons of the page
 * are disabled meanwhile, and an error is shown.
 */
export function onSubmit(
  id: string,
  act: (action: string, form: HTMLFormElement) => Promise<void>,
) {
  const form = element(id, HTMLFormElement);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const button = event.submitter;
    const action = button instanceof HTMLButtonElement ? button.value : '';
    void busily(() => act(action, form));
  });
}

/** Calls `act` when a button is pressed, as `onSubmit` does. */
export function onPress(id: string, act: () => Promise<void>) {
  element(id, HTMLButtonElement).addEventListener('click', () => void busily(act));
}

/** Tells the visitor what happens. */
export function say(text: string, isError = false): void {
  const status = element('status', HTMLElement);
  status.textContent = text;
  status.classList.toggle('error', isError);
}

async function busily(act: () => Promise<void>): Promise<void> {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('#visitor button')];
  for (const button of buttons) button.disabled = true;
  try {
    await act();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}
