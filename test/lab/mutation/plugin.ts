// Extends Stryker, also in its processes: finds the mutants that are noise, and those that were chosen to run.
import { type Checker, CheckStatus } from "@stryker-mutator/api/check";
import type { Mutant, StrykerOptions } from "@stryker-mutator/api/core";
import {
  commonTokens,
  declareClassPlugin,
  declareValuePlugin,
  PluginKind,
  tokens,
} from "@stryker-mutator/api/plugin";
import { keyOf } from "./candidates.ts";
import { noise } from "./noise.ts";

/** The name of the option of Stryker that contains the keys of the chosen mutants. */
export const CHOSEN_KEYS = "chosenKeys";

class ChosenMutants implements Checker {
  static readonly inject = tokens(commonTokens.options);
  readonly #keys: Set<unknown>;

  constructor(options: StrykerOptions) {
    this.#keys = new Set(options[CHOSEN_KEYS] as string[]);
  }

  init(): Promise<void> {
    return Promise.resolve();
  }

  group(mutants: Mutant[]): Promise<string[][]> {
    return Promise.resolve([mutants.map(({ id }) => id)]);
  }

  check(mutants: Mutant[]) {
    return Promise.resolve(
      Object.fromEntries(
        mutants.map((mutant) => [
          mutant.id,
          this.#keys.has(keyOf(mutant))
            ? { status: CheckStatus.Passed as const }
            : { status: CheckStatus.CompileError as const, reason: "not chosen" },
        ]),
      ),
    );
  }
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "noise", noise),
  declareClassPlugin(PluginKind.Checker, "chosen", ChosenMutants),
];
