// Faults of the apiserver for requests about one Node.

export type Wrong =
  /** No answer, and no effect. */
  | { kind: "hangs" }
  /** It takes effect, without an answer. */
  | { kind: "hangs after its effect" }
  /** It takes effect, and is answered once the fault ends. */
  | { kind: "answers late" }
  /** It takes effect, and a proxy answers instead. */
  | { kind: "answer lost" }
  /** A proxy answers, and it takes effect once the next GET of the Node has been answered. */
  | { kind: "effect comes late" }
  /** 200 with a tunnel's error page. */
  | { kind: "html" }
  /** 200 whose JSON is cut off; without an effect. */
  | { kind: "truncated" }
  | { kind: "status"; code: number; reason?: string; message?: string; retryAfterSeconds?: number };

export type Fault = Wrong & {
  /** A regular expression of the affected requests (`PUT /apis/…`). Absent: all. */
  of?: string;
  /** Number of these requests that succeed before the fault. */
  after?: number;
  /** Number of these requests that fail; later ones succeed. */
  times?: number;
};

/** A write of the Worker that took effect, and the resulting Node or Lease. */
export interface Write {
  request: string;
  object: { kind?: string; metadata?: { uid?: string } };
}
