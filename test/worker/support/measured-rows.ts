// The counts that the measured Worker reports to a benchmark. Types only: one runs in workerd, the other on
// Node.

/** Rows since the last call, and the time of the machine's alarm, in milliseconds since 1970. */
export interface Measured {
  /** Without those of the log of refused enrolments. */
  rowsWritten: number;
  /** Rows of that log, which has a limit of its own. */
  refusals: number;
  rowsRead: number;
  alarmMs: number | null;
  /** The fleet index's part of the rows, and the number of calls by machines' objects. */
  index: { rowsWritten: number; asked: number };
  /** Messages of machines' sockets: received ones, including closes, and sent ones. */
  messages: { received: number; sent: number };
  /** Requests to machines' objects, without the benchmark's own. */
  nodeRequests: number;
}
