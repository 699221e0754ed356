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
  /** The rows that the fleet index wrote, and the number of calls that node objects made to it. */
  index: { rowsWritten: number; asked: number };
  /** The messages on machines' sockets: received messages, including closes, and sent ones. */
  messages: { received: number; sent: number };
  /** The number of requests to node objects, without the benchmark's own. */
  nodeRequests: number;
  /** The number of requests to the registry. */
  registryRequests: number;
}
