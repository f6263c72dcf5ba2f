import type { Query } from './query.ts';

/** The unit of the values of a panel, by its name in Grafana. */
export type Unit = 'short' | 's' | 'cps' | 'reqps' | 'binBps' | 'percentunit';

export interface Panel {
  readonly title: string;
  /** A sentence that says what the panel shows, and what is wrong. */
  readonly description: string;
  /** A single number of now, or lines over time. */
  readonly kind: 'number' | 'lines';
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** The value from which on a number is red. */
  readonly redFrom?: number;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A dashboard of Grafana for one audience. */
export interface Dashboard {
  /** Its name in URLs, and that of its file. */
  readonly uid: string;
  readonly title: string;
  /** Whom it is for, and which questions it answers. */
  readonly description: string;
  readonly rows: readonly Row[];
}
