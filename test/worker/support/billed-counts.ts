// What the Worker under measurement tells the bench of costs. Types only: one runs in workerd, the other on Node.

/** Of all objects of one class, since the last time. */
export interface ObjectCounts {
  /** By method; `fetch` are upgrades of sockets. */
  requests: Record<string, number>;
  /** What came by sockets, their ends included. */
  messages: number;
  alarmsSet: number;
  alarmsRung: number;
  rowsRead: number;
  /** Without the alarms that were set. */
  rowsWritten: number;
  /** For how long something was in progress in an object: a request, an alarm, a message, or what it had asked for. */
  awakeMs: number;
  /** Requests to the apiserver. */
  subrequests: number;
  /** Objects that were ever awake, and the bytes of their storage, as of now. */
  objects: number;
  storedBytes: number;
}

export interface BilledCounts {
  /** Of machines and operators. */
  workerRequests: number;
  /** By the clock's trigger. */
  crons: number;
  /** Lines that the Worker and its objects log by themselves. */
  logLines: number;
  /** By class. */
  objects: Record<string, ObjectCounts>;
}

/** A step of the clock, in milliseconds since 1970. */
export interface BilledStep {
  toMs: number;
  /** Requests that the apiserver has, and has not answered. */
  held: number;
}

export interface BilledClock {
  /** There was nothing left to do but to wait, and the clock went on: to the first alarm, where that is due earlier. */
  isQuiet: boolean;
  nowMs: number;
  /** When the first alarm is to ring; null: none is set. */
  dueMs: number | null;
}
