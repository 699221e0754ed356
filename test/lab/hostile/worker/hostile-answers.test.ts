// Tests the generator of hostile answers, and the judgement of outputs.
import { describe, expect, it, test } from "vitest";
import { ROUTES } from "../../../../shared/protocol/routes.ts";
import { randomOf } from "../random.ts";
import { commandLines } from "./commands.ts";
import { faultOfOutput, hostileAnswer, operationOf } from "./hostile-answers.ts";

test("each route of the protocol has answers in the description", () => {
  const unknown = Object.keys(ROUTES).filter((route) => {
    const [method = "", path = ""] = route.split(" ");
    return !operationOf(method, path.replaceAll(/\{\w+\}/g, "edge-1"));
  });
  expect(unknown).toEqual([]);
});

test("a seed and an index decide an answer", () => {
  const answer = (seed: number) => hostileAnswer("GET", "/v1/machines", randomOf(seed, 3));
  expect(answer(7)).toEqual(answer(7));
  expect(answer(7)).not.toEqual(answer(8));
});

test("answers have escape sequences", () => {
  const bodies = Array.from(
    { length: 20 },
    (_, at) => hostileAnswer("GET", "/v1/tokens", randomOf(7, at)).body,
  );
  expect(bodies.filter((body) => body.includes(String.raw`\u001b`)).length).toBeGreaterThan(10);
});

test("the command lines include each command that asks the Worker", () => {
  const lines = commandLines().map((line) => line.join(" "));
  expect(lines.length).toBeGreaterThan(60);
  for (const line of ["nodes", "node get edge-1", "token list", "ready", "status", "impact"])
    expect(lines).toContain(line);
});

describe("an output", () => {
  const red = "\u001B[31mready\u001B[0m";
  it.each<[output: string, hasColours: boolean, fault: RegExp | null]>([
    ["NAME   STATE\nedge-1   ready\n", false, null],
    [`${red}\n`, true, null],
    [`${red}\n`, false, /^a control character/],
    ["\u001B[2J", true, /^a control character/],
    ["\u009B2J", true, /^a control character/],
    ["a\u202Eb", true, /^a control character/],
    ["a\rb", true, /^a control character/],
    ["x\nforged: ok", true, /^a forged line$/],
    ["x forged: ok", true, null],
  ])("%j, own colours %s → %s", (output, hasColours, fault) => {
    if (fault === null) expect(faultOfOutput(output, hasColours)).toBeNull();
    else expect(faultOfOutput(output, hasColours)).toMatch(fault);
  });
});
