/**
 * Shifts the clock of a process that loads this module first. It reads the milliseconds from the
 * file that CLOCK_SHIFT_FILE names, each time that the process asks for the time.
 */
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_SHIFT_FILE'] ?? '';
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...parts: readonly [] | readonly [number | string | Date]) {
    if (parts.length === 0) super(ShiftedDate.now());
    else super(parts[0]);
  }

  static override now(): number {
    return RealDate.now() + Number(readFileSync(file, 'utf8'));
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
