/** Of every part sent. */
export const partBytes = 16 * 2 ** 20;
