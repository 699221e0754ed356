// What is kept of a chain of tokens: the newest one, and why there is none newer. Types only.

/** Why the last attempt to renew came to nothing. */
export interface RenewalFailure {
  /** The apiserver's reason, or `Unanswered`. */
  reason: string;
  message: string;
  /** Of the first of these attempts, and of the last one. */
  sinceMs: number;
  atMs: number;
  /** There is an event about it. */
  isSaid: boolean;
}

export interface KeptChain {
  /** Without one, the secret is the newest. */
  token?: string;
  failure?: RenewalFailure;
}

export interface ChainStore {
  read: () => Promise<KeptChain>;
  /** One row. */
  write: (chain: KeptChain) => Promise<void>;
}
