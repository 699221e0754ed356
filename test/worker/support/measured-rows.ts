// What the measured Worker tells a benchmark. Types only: one runs in workerd, the other on Node.

/** Rows since the last time, and when the alarm is to ring, in milliseconds since 1970. */
export interface Measured {
  rowsWritten: number;
  rowsRead: number;
  alarmMs: number | null;
}
