// Defines the faults of the apiserver for requests about one Node.

export type Wrong =
  /** The request gets no answer and has no effect. */
  | { kind: "hangs" }
  /** The request takes effect, but gets no answer. */
  | { kind: "hangs after its effect" }
  /** The request takes effect, and gets its answer when the fault ends. */
  | { kind: "answers late" }
  /** The request takes effect, but a proxy answers in the apiserver's place. */
  | { kind: "answer lost" }
  /** A proxy answers, and the request takes effect after the answer to the next GET of the Node. */
  | { kind: "effect comes late" }
  /** The answer is 200 with a tunnel's error page. */
  | { kind: "html" }
  /** The answer is 200 with JSON that is cut off. The request has no effect. */
  | { kind: "truncated" }
  | { kind: "status"; code: number; reason?: string; message?: string; retryAfterSeconds?: number };

export type Fault = Wrong & {
  /** A regular expression for the affected requests (`PUT /apis/…`); absent if all requests are affected. */
  of?: string;
  /** The number of affected requests that succeed before the fault begins. */
  after?: number;
  /** The number of affected requests that fail. Requests after them succeed. */
  times?: number;
};

/** A write of the Worker that took effect, with the resulting Node or Lease. */
export interface Write {
  request: string;
  object: { kind?: string; metadata?: { uid?: string } };
}
