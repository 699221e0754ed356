// What the tests can have the apiserver do wrong for the requests about one Node.

export type Wrong =
  /** No answer, and no effect. */
  | { kind: "hangs" }
  /** It takes effect, and nobody is told. */
  | { kind: "hangs after its effect" }
  /** It takes effect, and is answered once the fault is over. */
  | { kind: "answers late" }
  /** It takes effect, and the answer is a gateway's. */
  | { kind: "answer lost" }
  /** A gateway answers, and it takes effect once the next GET about the Node has been answered. */
  | { kind: "effect comes late" }
  /** 200 with a tunnel's error page. */
  | { kind: "html" }
  /** 200 whose JSON ends half-way; without an effect. */
  | { kind: "truncated" }
  | { kind: "status"; code: number; reason?: string; message?: string; retryAfterSeconds?: number };

export type Fault = Wrong & {
  /** A regular expression of the requests that it meets (`PUT /apis/…`); all, where absent. */
  of?: string;
  /** How many of them pass before it. */
  after?: number;
  /** How many of them it meets; then they pass again. */
  times?: number;
};

/** A write of the Worker's that took effect, and the object that it made of a Node or a Lease. */
export interface Write {
  request: string;
  object: { kind?: string; metadata?: { uid?: string } };
}
