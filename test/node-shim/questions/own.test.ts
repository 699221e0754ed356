// Tests how a question of the machine's owner runs its program: with which arguments, and as which user.
import { expect, test } from "vitest";
import { answer } from "../../../node-shim/questions/answer.ts";
import { commandOf, own } from "../../../node-shim/questions/own.ts";
import { ownAsked, parseOwnQuestion } from "../../../node-shim/config/own-questions.ts";
import type { QuestionHost, Runner } from "../../../node-shim/questions/source.ts";
import { heldTimers } from "../base/timers.ts";
import { collected, played } from "./asking.ts";

const UNIT = "rollcall-own-1.service";

function question(lines = "", parameters: Record<string, string> = {}) {
  const read = parseOwnQuestion("own:a", `description: a test\nprogram: /bin/true\n${lines}`);
  if (!read.ok) throw new Error(read.error);
  const asked = ownAsked(read.value, parameters);
  if (!asked.ok) throw new Error(asked.error);
  return asked.value;
}

const ROOT: Runner = { isRoot: true, name: "root", hasSystemd: false };
const OTHER: Runner = { isRoot: false, name: "shim", hasSystemd: true };

test.each<[situation: string, user: string | null, runner: Runner, command: string[] | string]>([
  ["root, a user", "backup", ROOT, ["runuser", "-u", "backup", "--", "/bin/true", "x"]],
  ["root, user: root", "root", ROOT, ["/bin/true", "x"]],
  [
    "root, no user",
    null,
    ROOT,
    "only systemd can run it as a user of its own: its file must have user: NAME",
  ],
  [
    "another user, no user",
    null,
    OTHER,
    "only root can run it as a user of its own: its file must have user: shim",
  ],
  ["another user, a third one", "backup", OTHER, "only root can run it as backup"],
  ["another user, itself", "shim", OTHER, ["/bin/true", "x"]],
  ["another user, user: root", "root", OTHER, "only root can run it as root"],
])("without systemd or root: %s → %j", (_, user, runner, expected) => {
  const { own: asked } = question(user === null ? "" : `user: ${user}`);
  const command = commandOf(asked, ["x"], UNIT, { runner, stateFolder: "/state" });
  expect(command.ok ? command.value : command.error).toEqual(expected);
});

test.each<[user: string | null, has: string[], lacks: string[]]>([
  [null, ["DynamicUser=yes", "CapabilityBoundingSet=", "PrivateDevices=yes"], ["User="]],
  ["backup", ["User=backup", "CapabilityBoundingSet=", "PrivateDevices=yes"], ["DynamicUser="]],
  ["root", ["User=root"], ["DynamicUser=", "CapabilityBoundingSet=", "PrivateDevices="]],
])("root with systemd, user %j → a unit of its own that can write to no disk", (user, has, lacks) => {
  const { own: asked } = question(user === null ? "" : `user: ${user}`);
  const runner = { ...ROOT, hasSystemd: true };
  const command = commandOf(asked, ["$HOME"], UNIT, { runner, stateFolder: "/state" });
  const words = command.ok ? command.value : [];
  expect(words.slice(0, 6)).toEqual([
    "systemd-run",
    "--pipe",
    "--wait",
    "--collect",
    "--quiet",
    `--unit=${UNIT}`,
  ]);
  expect(words.slice(-3)).toEqual(["--", "/bin/true", "$$HOME"]);
  const common = [
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "ReadOnlyPaths=/run -/dev/hugepages -/dev/mqueue -/dev/shm",
    "InaccessiblePaths=-/state",
    "RuntimeMaxSec=13",
  ];
  for (const property of [...has, ...common]) expect(words).toContain(`--property=${property}`);
  for (const property of lacks) expect(words.join("\n")).not.toContain(`--property=${property}`);
});

test("values → parts of arguments, as they are", async () => {
  const text = 'parameters: { a: { type: text, pattern: ".+" }, b: { type: text, pattern: ".+" } }';
  const asking = played({ true: "done\n" }, { runner: ROOT });
  const asked = question(`user: root\narguments: ["--x={a}", "{b}{c}", "{constructor}"]\n${text}`, {
    a: "{b} $(id) 'q'",
    b: "1",
  });
  expect(await collected(own(asked, asking))).toEqual(["done"]);
  expect(asking.ran).toEqual(["/bin/true --x={b} $(id) 'q' 1{c} {constructor}"]);
});

async function whole(
  asked: ReturnType<typeof question>,
  host: QuestionHost,
  signal = new AbortController().signal,
) {
  const chunks = answer(asked, host, signal);
  for (let text = ""; ;) {
    const { done, value } = await chunks.next();
    if (done) return { text, end: value };
    text += Buffer.from(value).toString();
  }
}

test("output → redacted, also a key in PEM, with visible control characters", async () => {
  const pem = "-----BEGIN PRIVATE KEY-----\nQUJD\nRA==\n-----END PRIVATE KEY-----\n";
  const host = played({ true: `token=hunter2\n${pem}\u001b[31mafter\n` });
  const lines = [
    "token=[redacted]",
    ...Array.from({ length: 4 }, () => "[redacted]"),
    String.raw`\u001b[31mafter`,
  ];
  expect(await whole(question(), host)).toEqual({
    text: `${lines.join("\n")}\n`,
    end: { reason: "complete" },
  });
});

test("more than the file's limit → cut", async () => {
  const host = played({ true: "12345\n".repeat(10) });
  const { text, end } = await whole(question("limitBytes: 12"), host);
  expect([text, end]).toEqual(["12345\n12345\n", { reason: "cut" }]);
});

/** Returns a machine whose program prints nothing until it is ended. */
function hanging() {
  const host = played({ systemctl: "" });
  const run: QuestionHost["run"] = async function* (program, args, options) {
    if (program === "systemctl") yield* host.run(program, args, options);
    else {
      host.ran.push("begun");
      await new Promise((resolve) => options.signal.addEventListener("abort", resolve));
    }
  };
  return { ...host, run };
}

test.each<
  [situation: string, end: string, leave: (pass: (ms: number) => void, stop: AbortController) => void]
>([
  ["its time passes", "timed out", (pass) => pass(4000)],
  ["the asker leaves", "gone", (_, stop) => stop.abort()],
])("a program that hangs, and %s → systemd ends the unit", async (_, reason, leave) => {
  const pass = heldTimers();
  const stop = new AbortController();
  const host = hanging();
  const ended = whole(question("timeoutSeconds: 4"), host, stop.signal);
  await new Promise((resolve) => void setImmediate(resolve));
  leave(pass, stop);
  await new Promise((resolve) => void setImmediate(resolve));
  pass(2000);
  expect((await ended).end).toMatchObject({ reason });
  expect(host.ran).toEqual([
    "begun",
    expect.stringMatching(/^systemctl stop --quiet rollcall-own-[0-9a-f]{16}\.service$/),
  ]);
});
