// Defines the counts that the measured Worker reports to a benchmark. Types only: the Worker runs in workerd, the
// benchmark on Node.

/** The rows since the last call, and the time of the machine's alarm, in milliseconds since 1970. */
export interface Measured {
  /** The number of rows written, without the log of refused enrolments. */
  rowsWritten: number;
  /** The number of rows of the log of refused enrolments, which has a limit of its own. */
  refusals: number;
  rowsRead: number;
  alarmMs: number | null;
  /** The fleet index's part of the rows, and the number of its calls by node objects. */
  index: { rowsWritten: number; asked: number };
  /** The messages on machines' sockets: received messages, including closes, and sent ones. */
  messages: { received: number; sent: number };
  /** The number of requests to node objects, without the benchmark's own. */
  nodeRequests: number;
}
