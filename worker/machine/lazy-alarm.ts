// The object's one alarm, set as seldom as can be: setting it writes a row.

export interface LazyAlarm {
  /** It will ring then or before. */
  atLatest: (atMs: number) => Promise<void>;
  /** Call it first thing when it rings. */
  rang: () => void;
}

export function lazyAlarm(storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">): LazyAlarm {
  /** undefined: an eviction has forgotten it. */
  let setForMs: number | null | undefined;
  return {
    async atLatest(atMs) {
      setForMs ??= await storage.getAlarm();
      if (setForMs !== null && setForMs <= atMs) return;
      setForMs = atMs;
      await storage.setAlarm(atMs);
    },
    rang() {
      setForMs = null;
    },
  };
}
