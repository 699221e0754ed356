// Lists the command lines of rollcall, from its own definition, and runs one in this process.
import type { Command } from "commander";
import { setTimeout as wait } from "node:timers/promises";
import type { Surroundings } from "../../../../infra/operator/operator-program.ts";
import { operatorProgram, runCommandLine } from "../../../../infra/operator/program.ts";

/** Values for operands and flags, by a part of their name. */
const VALUES: readonly [pattern: RegExp, value: string][] = [
  [/key|thumbprint/, "k".repeat(43)],
  [/origin|url|address/, "https://rollcall.example.com"],
  [/version/, "0.2.0"],
  [/shell/, "bash"],
  [/word/, "pending"],
  [/duration|for|until|expires/, "1h"],
  [/time|since/, "1h"],
  [/percent|limit|days|delivery|mute|^id$/, "7"],
];
const valueFor = (name: string) => VALUES.find(([pattern]) => pattern.test(name))?.[1] ?? "edge-1";

/** These commands write files or run for ever, or ask no Worker. */
const LEFT_OUT = new Set(["export", "import", "context", "completion", "explain", "key"]);

export function commandLines(): string[][] {
  const program = operatorProgram({
    process: { stdout: { write: () => 0 }, stderr: { write: () => 0 } },
  } as never);
  const lines: string[][] = [];
  const add = (command: Command, path: string[]): void => {
    if (LEFT_OUT.has(command.name())) return;
    for (const sub of command.commands) add(sub, [...path, sub.name()]);
    // oxlint-disable-next-line no-underscore-dangle -- commander has no other name for it
    if (!("_actionHandler" in command) || command._actionHandler === null) return;
    const operands = command.registeredArguments.map((operand) => valueFor(operand.name()));
    const optional = command.registeredArguments.findIndex(({ required }) => !required);
    const yes = command.options.some(({ long }) => long === "--yes") ? ["--yes"] : [];
    const needed = command.options
      .filter(({ mandatory }) => mandatory)
      .flatMap((option) => [option.long ?? "", option.argChoices?.[0] ?? valueFor(option.attributeName())]);
    lines.push([...path, ...operands, ...yes, ...needed]);
    if (optional >= 0) lines.push([...path, ...operands.slice(0, optional), ...yes, ...needed]);
  };
  for (const command of program.commands) add(command, [command.name()]);
  const more = [
    ["token", "create", "--names", "edge-1"],
    ["watch", "--for", "2s"],
    ["rollout", "set", "0.2.0", "--percent", "1"],
    ["receivers", "add", "x", "--to", "https://hook.example.com"],
    ["receivers", "remove", "x", "--yes"],
    ["uninstall", "--cluster", "--dry-run"],
    ["impact"],
  ];
  return [...lines, ...more];
}

/** Waits of a command end at once. After this number, the operator presses Ctrl-C. */
const MOST_WAITS = 20;

export interface CommandRun {
  output: string;
  code: number;
  tookMs: number;
  isTerminal: boolean;
}

export async function runCommand(args: string[], url: string, isTerminal: boolean): Promise<CommandRun> {
  const run = { output: "", code: 0, tookMs: 0, isTerminal };
  let [nowMs, waits] = [Date.now(), 0];
  const write = (text: string) => (run.output += text);
  const pause = async (ms: number) => {
    nowMs += Math.min(ms, 60_000);
    if (++waits > MOST_WAITS) throw new Error("interrupted");
    await wait(0);
  };
  const process: Surroundings["process"] = {
    env: { ROLLCALL_URL: url, ROLLCALL_SECRET: "secret" },
    stdout: { write, isTTY: isTerminal, columns: 100 },
    stderr: { write },
    set exitCode(code: number) {
      run.code = code;
    },
  };
  const terminal = {
    isInteractive: true,
    ask: (question: string) => Promise.resolve((write(question), "y")),
  };
  const beganMs = performance.now();
  await runCommandLine(args, {
    process,
    terminal,
    now: () => nowMs,
    pause,
    changesOf: () => ({ next: pause, end: () => undefined }),
  });
  run.tookMs = performance.now() - beganMs;
  return run;
}
