// What the shells ask, and kubectl of its plugins: `rollcall __complete WORDS`. What fails is no candidate, and says nothing.
import * as z from "zod/mini";
import { Command } from "commander";
import type { Flags } from "../answer.ts";
import { ask } from "../client.ts";
import { withCommonFlags } from "../common-flags.ts";
import { readConfig } from "../contexts/config-file.ts";
import { connectionOf, contextOf } from "../contexts/connection.ts";
import { EXPLAINED } from "../explain-command.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { harmless } from "../render/text.ts";
import { type Candidate, candidatesOf, commonWords, type Completed } from "./candidates.ts";

/** Who has pressed Tab does not wait longer. */
const NAMES_WITHIN_MS = 1000;
const NAMES_AT_ONCE = 200;

/** `words` are those behind the program's name; the last one is the one to complete, perhaps "". */
export async function complete(program: OperatorProgram, words: readonly string[]): Promise<void> {
  const completed = candidatesOf(program, words);
  const looked = await lookUp(program, completed.wants, words);
  program.surroundings.process.stdout.write(linesOf(completed, looked));
}

/** As cobra prints them: `:4` is "no file is meant". */
function linesOf({ candidates, wants }: Completed, looked: readonly Candidate[]): string {
  const lines = [...candidates, ...looked].map(({ word, what }) =>
    what === "" ? harmless(word) : `${harmless(word)}\t${harmless(what)}`,
  );
  return [...lines, wants === "file" ? ":0" : ":4"].map((line) => `${line}\n`).join("");
}

async function lookUp(
  program: OperatorProgram,
  wants: Completed["wants"],
  words: readonly string[],
): Promise<Candidate[]> {
  if (wants === "machine") return machineNames(program, words);
  if (wants === "word to explain")
    return EXPLAINED.map(({ word, kind }) => ({ word: word.replaceAll(" ", "-"), what: kind }));
  if (wants !== "context") return [];
  const config = readConfig(program.surroundings.process.env);
  const contexts = config.ok ? Object.entries(config.value.contexts) : [];
  return contexts.map(([word, { url }]) => ({ word, what: url }));
}

function commonFlagsIn(program: Command, words: readonly string[]): Flags {
  const parser = withCommonFlags(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  parser.parseOptions(commonWords(program, words));
  return parser.opts<Flags>();
}

const namesSchema = z.object({ machines: z.array(z.object({ name: z.string(), state: z.string() })) });

async function machineNames(program: OperatorProgram, words: readonly string[]): Promise<Candidate[]> {
  const flags = commonFlagsIn(program, words);
  const { env } = program.surroundings.process;
  const context = contextOf(flags, env);
  // A command that prints a secret may ask somebody, and this is no time for that.
  if (!context.ok || context.value.secretCommand !== undefined || context.value.cloudflared) return [];
  const connection = connectionOf(flags, env);
  if (!connection.ok) return [];
  const typed = words.at(-1) ?? "";
  const query = new URLSearchParams({ fields: "name,state", limit: String(NAMES_AT_ONCE) });
  if (typed !== "") query.set("text", typed);
  const path = `/v1/machines?${query.toString()}`;
  const answered = await ask(connection.value, { method: "GET", path, withinMs: NAMES_WITHIN_MS });
  const { data } = namesSchema.safeParse(answered.ok ? answered.value : null);
  return (data?.machines ?? [])
    .filter(({ name }) => name.startsWith(typed))
    .map(({ name, state }) => ({ word: name, what: state }));
}
