// Something that is looked at now and then: one at a time, and not again while it is fresh. Knows no clock of its own.

/** Looks when it is due at `nowMs`; joins a look that is under way. */
export type Look = (nowMs: number) => Promise<void>;

/** `attempt` tells whether it succeeded; what failed is due again at once. It never rejects. */
export function look(freshForMs: number, attempt: () => Promise<boolean>): Look {
  let underWay: Promise<void> | null = null;
  let dueMs = -Infinity;

  async function run(nowMs: number): Promise<void> {
    const succeeded = await attempt();
    dueMs = succeeded ? nowMs + freshForMs : -Infinity;
    underWay = null;
  }

  return (nowMs) => (nowMs < dueMs ? Promise.resolve() : (underWay ??= run(nowMs)));
}
