// What the measured Worker tells a benchmark. Types only: one runs in workerd, the other on Node.

/** Rows since the last time, and when the machine's alarm is to ring, in milliseconds since 1970. */
export interface Measured {
  /** But for those of the log of refused enrolments. */
  rowsWritten: number;
  /** Of that log, which has a bound of its own. */
  refusals: number;
  rowsRead: number;
  alarmMs: number | null;
  /** The fleet index's part of the rows, and how often machines' objects have asked it. */
  index: { rowsWritten: number; asked: number };
  /** By machines' sockets: what came, their ends included, and what was sent. */
  messages: { received: number; sent: number };
  /** Requests to machines' objects, but for the benchmark's own. */
  nodeRequests: number;
}
