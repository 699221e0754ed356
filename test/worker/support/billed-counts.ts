// Defines the counts that the measured Worker reports to the benchmark of costs. Types only: the Worker runs in
// workerd, the benchmark on Node.

/** The counts of all objects of one class, since the last call. */
export interface ObjectCounts {
  /** The number of requests by method. `fetch`: the upgrades of sockets. */
  requests: Record<string, number>;
  /** The number of messages on sockets, including their closes. */
  messages: number;
  alarmsSet: number;
  alarmsRung: number;
  rowsRead: number;
  /** The number of rows written, not counting settings of alarms. */
  rowsWritten: number;
  /**
   * Milliseconds with work in progress in an object: a request, an alarm, a message, or one of its own requests.
   */
  awakeMs: number;
  /** The number of requests to the apiserver. */
  subrequests: number;
  /** The number of objects that were ever awake. `storedBytes`: the present size of their storage. */
  objects: number;
  storedBytes: number;
}

export interface BilledCounts {
  /** The number of requests of machines and operators. */
  workerRequests: number;
  /** The number of runs of the cron trigger. */
  crons: number;
  /** The number of lines that the Worker and its objects have logged. */
  logLines: number;
  /** The counts of objects, by class. */
  objects: Record<string, ObjectCounts>;
}

/** A step of the clock. `toMs`: the time at its end, in milliseconds since 1970. */
export interface BilledStep {
  toMs: number;
  /** The number of requests that the apiserver has received but not answered. */
  held: number;
  /** The number of requests and messages for which machines await the Worker's answer. */
  sent: number;
}

export interface BilledClock {
  /**
   * true if all work waits for the apiserver or a timer. The clock has then moved: to `toMs`, or to the first alarm or timer if that is
   * due earlier.
   */
  isQuiet: boolean;
  /** The work in progress, for a person who searches for work that does not end. "" if the clock has moved. */
  work: string;
  nowMs: number;
  /** The time of the first alarm; null if no alarm is set. */
  dueMs: number | null;
}
