// Tests the files of the owner's own questions: which are valid, and which values their parameters may have.
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { acceptedQuestion } from "../../../node-shim/questions/answerer.ts";
import { ownAsked, ownQuestions, parseOwnQuestion } from "../../../node-shim/config/own-questions.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

const VALID = `
description: the state of a volume's backup
program: /bin/true
arguments: ["--volume={volume}", "{days}", "{level}"]
parameters:
  volume: { type: text, pattern: "[a-z0-9-]+", maxLength: 20 }
  days: { type: number, min: 1, max: 30, default: "7" }
  level: { type: choice, of: [all, errors], default: errors }
`;
const parsed = (text: string) => parseOwnQuestion("own:backup", text);

test("a valid file → the question with its bounds and parameters", () => {
  expect(parsed(VALID)).toMatchObject({
    ok: true,
    value: {
      name: "own:backup",
      help: "the state of a volume's backup",
      usage: "volume=TEXT [days=7] [level=all|errors]",
      isSafe: false,
      seconds: 10,
      bytes: 65536,
      user: null,
      isInBundle: false,
    },
  });
});

describe("a file with a fault", () => {
  const with_ = (lines: string) => `description: x\nprogram: /bin/true\n${lines}\n`;
  test.each([
    ["no YAML", "a: [", /^not YAML: /],
    ["aliases, which can grow", with_("arguments: [&a x, *a]"), /^not YAML: Alias resolution is disabled/],
    ["nothing", "", /^Invalid input: expected object/],
    ["an unknown field", with_("shell: yes"), /^shell: unknown field$/],
    ["no program", "description: x\n", /^program: /],
    ["a relative program", "description: x\nprogram: df\n", /^program: not an absolute path$/],
    ["a path with ..", "description: x\nprogram: /usr/../bin/df\n", /^program: not an absolute path$/],
    ["an argument with a line break", with_(String.raw`arguments: ["a\nb"]`), /^arguments.0: a control/],
    ["a minute and a second", with_("timeoutSeconds: 61"), /^timeoutSeconds: Too big/],
    ["more bytes than an answer", with_("limitBytes: 1048577"), /^limitBytes: Too big/],
    ["a user with an option", with_("user: -u"), /^user: not the name of a user$/],
    ["a text without a pattern", with_("parameters: { a: { type: text } }"), /^parameters.a.pattern: /],
    ["no expression", with_('parameters: { a: { type: text, pattern: "(" } }'), /not a regular expression$/],
    [
      "an expression that leaves its brackets",
      with_('arguments: ["{a}"]\nparameters: { a: { type: text, pattern: "a)|(b" } }'),
      /not a regular expression$/,
    ],
    [
      "a parameter that no argument has",
      with_('arguments: ["{b}"]\nparameters: { a: { type: number, max: 3 } }'),
      /^parameters.a: no argument has \{a\}$/,
    ],
    [
      "a default that its pattern refuses",
      with_('arguments: ["{a}"]\nparameters: { a: { type: text, pattern: "[a-z]", default: "1" } }'),
      /^parameters.a.default: does not match \[a-z\]$/,
    ],
    [
      "a bundle without a value",
      with_('bundle: true\narguments: ["{a}"]\nparameters: { a: { type: number, max: 3 } }'),
      /^bundle: parameters.a has no default/,
    ],
  ])("%s → which field, and why", (_, text, error) => {
    const { ok, error: fault } = parsed(text) as { ok: boolean; error?: string };
    expect([ok, fault]).toEqual([false, expect.stringMatching(error)]);
  });
});

describe("parameters", () => {
  test.each<[situation: string, given: Record<string, unknown>, expected: Record<string, string> | string]>([
    ["only what has no default", { volume: "a-1" }, { volume: "a-1", days: "7", level: "errors" }],
    ["all", { volume: "a", days: "30", level: "all" }, { volume: "a", days: "30", level: "all" }],
    ["none", {}, "volume: missing"],
    ["another one", { volume: "a", x: "1" }, "x: unknown field"],
    ["one of every object", { volume: "a", constructor: "1" }, "constructor: unknown field"],
    ["a part that matches", { volume: "a/b" }, "volume: does not match [a-z0-9-]+"],
    ["a second line", { volume: "a\nb" }, "parameters: a control character"],
    ["an option", { volume: "--help" }, 'volume: begins with "-"'],
    ["20 characters", { volume: "a".repeat(20) }, { volume: "a".repeat(20), days: "7", level: "errors" }],
    ["21 characters", { volume: "a".repeat(21) }, "volume: more than 20 characters"],
    ["a number below", { volume: "a", days: "0" }, "days: not a whole number from 1 to 30"],
    ["a number above", { volume: "a", days: "31" }, "days: not a whole number from 1 to 30"],
    ["a number in another form", { volume: "a", days: "1e1" }, "days: not a whole number from 1 to 30"],
    ["no choice", { volume: "a", level: "none" }, "level: not one of all, errors"],
    ["a value that is no text", { volume: 1 }, "parameters: Invalid input: expected string, received number"],
  ])("%s → %o", (_, given, expected) => {
    const own = parsed(VALID);
    const asked = own.ok ? ownAsked(own.value, given) : own;
    expect(asked.ok ? asked.value.parameters : asked.error).toEqual(expected);
  });

  test("a pattern on which a backtracking matcher would take for ever → the value is refused", () => {
    const own = parsed(
      'description: x\nprogram: /bin/true\narguments: ["{a}"]\nparameters: { a: { type: text, pattern: "(a+)+b" } }',
    );
    const asked = own.ok ? ownAsked(own.value, { a: "a".repeat(200) }) : own;
    expect(asked).toEqual({ ok: false, error: "a: does not match (a+)+b" });
  });
});

describe("in a folder", () => {
  let folder: string;
  beforeEach(() => {
    const { path, remove } = temporaryFolder();
    onTestFinished(remove);
    folder = path;
  });
  const program = () => join(folder, "program");
  const file = (name: string, program = "/bin/true") =>
    writeFileSync(join(folder, name), `description: x\nprogram: ${program}\n`);
  const fault = (name: `own:${string}`) => {
    const read = ownQuestions(folder, [name]).get(name);
    return read?.ok ? null : read?.error.replaceAll(folder, "FOLDER");
  };

  test.each<[situation: string, make: () => void, fault: string | null]>([
    ["a valid file", () => file("a.yaml"), null],
    ["no file", () => {}, "FOLDER/a.yaml cannot be read (ENOENT)"],
    [
      "a file that others can write",
      () => (file("a.yaml"), chmodSync(join(folder, "a.yaml"), 0o666)),
      "FOLDER/a.yaml is not trusted: FOLDER/a.yaml can be written by others (mode 666): chmod go-w",
    ],
    [
      "a folder that others can write",
      () => (file("a.yaml"), chmodSync(folder, 0o777)),
      "FOLDER/a.yaml is not trusted: FOLDER can be written by others (mode 777): chmod go-w",
    ],
    [
      "a folder in its place",
      () => mkdirSync(join(folder, "a.yaml")),
      "FOLDER/a.yaml is not a file of at most 16384 bytes",
    ],
    [
      "a file that is too large",
      () => writeFileSync(join(folder, "a.yaml"), "#".repeat(16 * 1024 + 1)),
      "FOLDER/a.yaml is not a file of at most 16384 bytes",
    ],
    [
      "a program that is missing",
      () => file("a.yaml", program()),
      "FOLDER/a.yaml: program: FOLDER/program cannot be read (ENOENT)",
    ],
    [
      "a program that is no program",
      () => (file("a.yaml", program()), writeFileSync(program(), "")),
      "FOLDER/a.yaml: program: FOLDER/program is not an executable file",
    ],
    [
      "a program that others can write",
      () => (file("a.yaml", program()), writeFileSync(program(), ""), chmodSync(program(), 0o757)),
      "FOLDER/a.yaml: program: not trusted: FOLDER/program can be written by others (mode 757): chmod go-w",
    ],
  ])("%s → its fault", (_, make, expected) => {
    make();
    expect(fault("own:a")).toBe(expected);
  });

  test.skipIf(process.geteuid?.() !== 0)("files and links of another user → not trusted", () => {
    file("a.yaml");
    chownSync(join(folder, "a.yaml"), 1000, 1000);
    expect(fault("own:a")).toMatch(/is not trusted: .* belongs to user 1000: chown it to root$/);
    symlinkSync("/etc/hostname", join(folder, "b.yaml"));
    expect(fault("own:b")).not.toBeNull();
  });

  test("a file with a fault → turns off its own question, and says why to the asker", () => {
    file("a.yaml");
    const own = ownQuestions(folder, ["own:a", "own:b"]);
    const settings = { questions: new Set(["own:a", "questions"] as const), ownQuestions: own };
    const accepted = (name: string) => {
      const question = acceptedQuestion({ name, parameters: {} }, settings);
      return question.ok ? question.value.name : question.error.replaceAll(folder, "FOLDER");
    };
    expect(["own:a", "own:b", "own:c", "own:../a", "questions"].map(accepted)).toEqual([
      "own:a",
      "own:b is off: FOLDER/b.yaml cannot be read (ENOENT)",
      "own:c is off: --questions names the questions that this machine answers",
      "name: Invalid input",
      "questions",
    ]);
  });
});
