/** An error that ends the demo with one line for the user. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
