// Tests the form of a question: its fields, what it sends, and the question as a text and as a command.
import { describe, expect, it } from "vitest";
import { QUESTIONS } from "../../../../shared/protocol/questions.ts";
import { questionSchema } from "../../../../shared/protocol/question.ts";
import {
  commandOf,
  fieldsOf,
  missingIn,
  ownRowIn,
  parametersOf,
  questionText,
} from "../../../../infra/page/ask/question-fields.ts";

const kindsOf = (usage: string) =>
  fieldsOf(usage).map(({ name, kind, initial, isRequired }) => [name, kind, initial, isRequired]);

describe("usage → fields, with their first values and whether they are required", () => {
  it.each<[usage: string, fields: unknown[]]>([
    ["", []],
    [
      "[path=/] [top=20]",
      [
        ["path", "text", "/", false],
        ["top", "number", "20", false],
      ],
    ],
    ["[by=cpu|memory|disk]", [["by", "choice", "cpu", false]]],
    ["container=ID", [["container", "text", "", true]]],
    [
      "path=/PATH [grep=TEXT]",
      [
        ["path", "text", "", true],
        ["grep", "text", "", false],
      ],
    ],
    [
      "unit=NAME|kernel=yes",
      [
        ["unit", "text", "", true],
        ["kernel", "check", "", true],
      ],
    ],
  ])("%s", (usage, fields) => {
    expect(kindsOf(usage)).toEqual(fields);
  });

  it("the choices are those of the usage, and a number has the bounds of the protocol", () => {
    expect(fieldsOf(QUESTIONS.processes.usage)).toMatchObject([
      { choices: ["cpu", "memory", "disk"] },
      { bounds: [1, 200] },
    ]);
  });
});

it("the machine's own list → the parameters of a question of its owner", () => {
  const list =
    " 10 s  1024 KiB  questions\n    the list\n  5 s  64 KiB  own:raid array=TEXT [n=1]\n    an array\n";
  expect(ownRowIn(list, "own:raid")).toEqual({ help: "an array", usage: "array=TEXT [n=1]", seconds: 5 });
  expect(ownRowIn(list, "own:rai")).toBeUndefined();
  expect(kindsOf("array=TEXT n=NUMBER of=a|b")).toEqual([
    ["array", "text", "", true],
    ["n", "number", "", true],
    ["of", "choice", "a", true],
  ]);
});

describe("what is typed → what is sent", () => {
  const logs = fieldsOf(QUESTIONS.logs.usage);

  it.each<[situation: string, values: Record<string, string>, sent: Record<string, string>]>([
    ["defaults are left out", { unit: "nginx", since: "1h", lines: "100" }, { unit: "nginx" }],
    ["spaces around a value", { unit: " nginx ", lines: "7" }, { unit: "nginx", lines: "7" }],
    ["the kernel", { kernel: "yes" }, { kernel: "yes" }],
  ])("%s", (_, values, sent) => {
    expect(parametersOf(logs, values)).toEqual(sent);
    expect(questionSchema.safeParse({ name: "logs", parameters: sent }).success).toBe(true);
  });

  it("a required choice is sent, also the first one", () => {
    expect(parametersOf(fieldsOf("of=a|b"), { of: "a" })).toEqual({ of: "a" });
  });

  it.each<[situation: string, values: Record<string, string>, missing: string[]]>([
    ["none of two alternatives", {}, ["unit", "kernel"]],
    ["one of them", { kernel: "yes" }, []],
    ["spaces are no value", { unit: "  " }, ["unit", "kernel"]],
  ])("missing: %s", (_, values, missing) => {
    expect(missingIn(logs, values)).toEqual(missing);
  });
});

it.each<[parameters: Record<string, string>, text: string, command: string]>([
  [{}, "logs", "rollcall ask edge-7 logs"],
  [{ unit: "a@b.service" }, "logs unit=a@b.service", "rollcall ask edge-7 logs unit=a@b.service"],
  [{ grep: "it's $(x)" }, "logs grep=it's $(x)", String.raw`rollcall ask edge-7 logs 'grep=it'\''s $(x)'`],
])("%j → %s, and a command that a shell leaves as it is", (parameters, text, command) => {
  const question = { name: "logs", parameters };
  expect([questionText(question), commandOf("edge-7", question)]).toEqual([
    text,
    `${command} --key ~/.config/rollcall/question-key`,
  ]);
});

it("a machine that means harm lists a million parameters → as many fields as a question can have", () => {
  expect(fieldsOf("[a=1] ".repeat(1_000_000))).toHaveLength(16);
  expect(fieldsOf(Array.from({ length: 1000 }, (_, at) => `p${at}=A`).join("|"))).toHaveLength(16);
});
