// The counts that the measured Worker reports to the bench of costs. Types only: one runs in workerd, the
// other on Node.

/** All objects of one class, since the last call. */
export interface ObjectCounts {
  /** By method; `fetch` are upgrades of sockets. */
  requests: Record<string, number>;
  /** Messages of sockets, including their closes. */
  messages: number;
  alarmsSet: number;
  alarmsRung: number;
  rowsRead: number;
  /** Without the settings of alarms. */
  rowsWritten: number;
  /** Time with something in progress in an object: a request, an alarm, a message, or one of its own requests. */
  awakeMs: number;
  /** Requests to the apiserver. */
  subrequests: number;
  /** Objects that were ever awake, and the bytes of their storage at present. */
  objects: number;
  storedBytes: number;
}

export interface BilledCounts {
  /** Requests of machines and operators. */
  workerRequests: number;
  /** Runs of the cron trigger. */
  crons: number;
  /** Lines that the Worker and its objects log. */
  logLines: number;
  /** By class. */
  objects: Record<string, ObjectCounts>;
}

/** A step of the clock, in milliseconds since 1970. */
export interface BilledStep {
  toMs: number;
  /** Requests that the apiserver has received, and not answered. */
  held: number;
}

export interface BilledClock {
  /** All work only waits, so the clock moved on: to the first alarm if that is due earlier. */
  isQuiet: boolean;
  nowMs: number;
  /** The time of the first alarm; null: none is set. */
  dueMs: number | null;
}
