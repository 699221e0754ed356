// Something that is looked at now and then: one at a time, and not again while it is fresh. Knows no clock of its own.

export interface Look {
  /** Looks when it is due at `nowMs`; joins a look that is under way. */
  at: (nowMs: number) => Promise<void>;
  /** What is known may be old: it is due at once. */
  expire: () => void;
}

/** `attempt` tells whether it succeeded; what failed is due again at once. It never rejects. */
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
