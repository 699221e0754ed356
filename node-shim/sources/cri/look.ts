// Repeats an attempt when it is due: one at a time, and not while its result is fresh. Has no clock of its own.

export interface Look {
  /** Looks when it is due at `nowMs`; joins a look that is under way. */
  at: (nowMs: number) => Promise<void>;
  /** The result may be out of date: the next look is due at once. */
  expire: () => void;
}

/** `attempt` returns whether it succeeded; a failed one is due again at once. It must not reject. */
export function look(freshForMs: number, attempt: () => Promise<boolean>): Look {
  let underWay: Promise<void> | null = null;
  let dueMs = -Infinity;

  async function run(nowMs: number): Promise<void> {
    const succeeded = await attempt();
    dueMs = succeeded ? nowMs + freshForMs : -Infinity;
    underWay = null;
  }

  return {
    at: (nowMs) => (nowMs < dueMs ? Promise.resolve() : (underWay ??= run(nowMs))),
    expire: () => {
      dueMs = -Infinity;
    },
  };
}
