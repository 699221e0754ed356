// Gives the tests one mutated source where ROLLCALL_MUTANT names a mutant; does nothing else.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Plugin } from "vitest/config";
import { mutated } from "./mutant.ts";
import { mutants } from "./mutants.ts";

/** Of the environment: the defence that a run of tests has to do without. */
export const MUTANT_VARIABLE = "ROLLCALL_MUTANT";

const ROOT = resolve(import.meta.dirname, "../..");

export function mutantPlugins(defence: string | undefined): Plugin[] {
  if (defence === undefined) return [];
  const mutant = mutants.find((each) => each.defence === defence);
  if (!mutant) throw new Error(`${MUTANT_VARIABLE}: there is no mutant "${defence}"`);
  const file = resolve(ROOT, mutant.file);
  const isMutated = (id: string) => id === file || id === `${file}?raw`;
  return [
    {
      name: "rollcall-mutant",
      enforce: "pre",
      load(id) {
        if (!isMutated(id)) return null;
        const source = mutated(readFileSync(file, "utf8"), mutant);
        return id === file ? source : `export default ${JSON.stringify(source)}`;
      },
      // What earlier runs have kept is the source as it is; and later ones must not find the mutant.
      configureVitest({ defineCacheKeyGenerator }) {
        defineCacheKeyGenerator(({ id }) => (isMutated(id) ? false : undefined));
      },
    },
  ];
}
