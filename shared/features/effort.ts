// Bounds the time of evaluating rules for one machine, by counting steps: the same rules and features end at the same step.

/** A rule that cannot be evaluated on these features, or that is invalid. The message is for operators. */
export class RuleFault extends Error {}

/** The most steps of an evaluation. A step takes some 10 ns. */
const MOST_EFFORT = 50_000_000;

export class Effort {
  #left: number;

  constructor(most = MOST_EFFORT) {
    this.#left = most;
  }

  /** Throws a RuleFault if the evaluation has had its steps. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0)
      throw new RuleFault(
        "the rules take too long on this machine: shorten expressions, lists of values and templates",
      );
  }
}
